#! error E0505 8:1-8:17 "`d((if t < 0.5 { 1 } else { 2 })*y_t, t)` of p derives what may jump, and auto() derives by the rules of calculus, which lose the jump: make the flux an unknown of its own, as u_t == q/k with q_t for d(k*u_t, t)"
problem p {
  domain t in [0, 1]
  field y
  d((if t < 0.5 { 1 } else { 2 })*y_t, t) == -y
  y == 1 at t = 0
  y_t == 0 at t = 0; }
solve(p, auto())
