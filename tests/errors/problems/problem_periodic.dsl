#! error E0503 7:13-7:18 "`x` is periodic and takes no condition at its ends"
problem p {
  domain t in [0, 1], x in [0, 1] periodic
  field u
  u_t == u_xx
  u == 0 at t = 0
  u == 0 at x = 0
}
