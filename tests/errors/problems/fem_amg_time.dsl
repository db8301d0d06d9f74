#! error E0505 10:1 "fem(linear = \"amg\") is for problems in space alone, and warm is none"
problem warm {
  domain t in [0, 1], (x, y) in box([0, 1], [0, 1])
  field u
  u_t == Δ(u)
  u == 0 at boundary
  u == x*y*(1 - x)*(1 - y) at t = 0
}

solve(warm, fem(h = 1/4, linear = "amg"))
