#! error E0208 5:3-5:6 "`u_x` is an unknown of this problem, and cannot be given a value"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  u_x = 3
  Δ(u) == 1
  u == 0 at boundary
}
