#! error E0502 2:9-2:10 "2 unknown components and 3 scalar equations in `p`"
problem p {
  domain t in [0, 1]
  field y[2]
  y_t[0] == -y[1]
  y_t[1] == y[0]
  y[0] == 1 - y[1]
  y == [1, 0] at t = 0
}
solve(p)
