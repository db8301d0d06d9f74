#! error E0208 5:3-5:4 "`x` is a coordinate of this problem, and cannot be given a value"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  x = 3
  Δ(u) == 1
  u == 0 at boundary
}
