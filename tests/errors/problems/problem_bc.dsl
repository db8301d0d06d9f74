#! error E0503 5:10-5:14 "this is second order in x and needs a condition on each of x = -1 and x = 1; x = 1 has none"
problem p {
  domain t in [0, 1], x in [-1, 1]
  field u
  u_t == u_xx
  u == 0 at t = 0
  u == 0 at x = -1
}
