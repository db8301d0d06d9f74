#! error E0505 7:1-7:41 "by how much, adapt says"
problem p {
  domain x in [0, 1]
  field u
  -u_xx == 1
  u == 0 at x = 0, x = 1 }
solve(p, fem(0.1, goal = s -> s.u(0.5)))
