#! warning W0701 9:5-9:51 "fv(): a front that the source of bistable makes is thinner than a cell, so its speed may be wrong: more cells make it right"
problem bistable {
  domain t in [0, 0.3], x in [0, 1]
  field u
  u_t + u_x == -1000*u*(u - 1)*(u - 0.5)
  u == if x < 0.3 { 1 } else { 0 } at t = 0
  u == 1 at x = 0
}
s = solve(bistable, fv(n = 100), estimate = false)
