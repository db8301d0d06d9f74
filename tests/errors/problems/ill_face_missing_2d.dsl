#! error E0503 5:3-5:7 "this is second order in y and needs a condition on each of y = 0 and y = 1; y = 1 has none"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  Δ(u) == 1
  u == 0 at x = 0, x = 1, y = 0
}
