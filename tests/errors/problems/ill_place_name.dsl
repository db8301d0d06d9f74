#! error E0504 6:13-6:18 "no part of the boundary is called `inlet`"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  Δ(u) == 1
  u == 0 at inlet
  u == 0 at right, top, bottom
}
