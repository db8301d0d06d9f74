#! error E0505 7:1-7:25 "`∂x((if x < 0.5 { 1 } else { 2 })*∂x(u))` of wall derives what may jump, and chebyshev() derives by the rules of calculus, which lose the jump: fd() and fem() take differences of the flux"
problem wall {
  domain x in [0, 1]
  field u
  ∂x((if x < 0.5 { 1 } else { 2 })*∂x(u)) == 0
  u == 0 at x = 0, x = 1; }
solve(wall, chebyshev())
