#! error E0503 6:3-6:7 "this is second order in y and needs a condition on `w` on each of y = 0 and y = 1; y = 1 has none"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u, w
  Δ(u) == w
  Δ(w) == u
  u == 0 at boundary
  w == 0 at left, right, bottom
}
