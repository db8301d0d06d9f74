#! error E0503 5:3-5:7 "this is second order in x and needs a condition on `v[1]` on each of x = 0 and x = 1; x = 1 has none"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field v[2]
  Δ(v) == [1, 0]
  v == [0, 0] at x = 0, y = 0, y = 1
  v[0] == 0 at x = 1
}
