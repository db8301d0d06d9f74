#! error E0503 7:17-7:20 "`u` is second order in y and takes 1 condition at y = 1; there are 2"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  Δ(u) == 1
  u == 0 at boundary
  ∂n(u) == 1 at top
}
