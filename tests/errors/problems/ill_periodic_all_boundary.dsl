#! error E0504 7:13-7:21 "every space coordinate is periodic: there is no boundary"
problem p {
  domain t in [0, 1], x in [0, 1] periodic, y in [0, 1] periodic
  field u
  u_t == Δ(u)
  u == 0 at t = 0
  u == 0 at boundary
}
