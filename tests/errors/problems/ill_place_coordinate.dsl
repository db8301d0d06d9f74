#! error E0504 6:13-6:14 "a condition holds at an end of `t`" hint "write at t = 0"
problem p {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == 0 at t
  u == 0 at boundary
}
