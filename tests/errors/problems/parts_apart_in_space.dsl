#! error E0502 2:9-2:10 "1 unknown and 2 equations in `p`" hint "the parts of `u` have one equation between vectors"
problem p {
  domain t in [0, 1], x in [0, 1]
  field u[2]
  u_t[0] == u_xx[0]
  u_t[1] == u_xx[1]
  u == [1, 0] at t = 0
  u == [0, 0] at x = 0, x = 1
}
