#! error E0504 6:13-6:21 "without a space coordinate there is no boundary"
problem p {
  domain t in [0, 1]
  field u
  u_t == -u
  u == 1 at boundary
}
