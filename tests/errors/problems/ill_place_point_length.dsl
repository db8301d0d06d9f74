#! error E0504 7:13-7:22 "a point with 3 numbers; there are 2 space coordinates"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  -Δ(u) == x - 1/2
  ∂n(u) == 0 at boundary
  u == 0 at (0, 0, 0)
}
