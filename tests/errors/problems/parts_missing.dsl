#! error E0502 2:9-2:10 "2 unknown components and 1 scalar equation in `p`"
problem p {
  domain t in [0, 1]
  field u[2]
  u_t[0] == -u[1]
  u == [1, 0] at t = 0
}
solve(p)
