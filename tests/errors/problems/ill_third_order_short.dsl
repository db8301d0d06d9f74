#! error E0503 5:9-5:14 "this is third order in x and needs 3 conditions there; there are 2"
problem p {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t + u_xxx == 0
  u == 0 at t = 0
  u == 0 at boundary
}
