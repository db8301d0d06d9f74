#! error E0505 8:1-8:33 "refines the mesh of problems in space alone"
problem p {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == 0 at x = 0, x = 1
  u == 0 at t = 0 }
solve(p, fem(0.1, adapt = 1e-2))
