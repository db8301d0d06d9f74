#! error E0504 7:26-7:29 "`top` is an end of the second space coordinate; there is 1"
problem p {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == 0 at t = 0
  u == 0 at left, right, top
}
