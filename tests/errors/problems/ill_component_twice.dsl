#! error E0503 7:16-7:19 "`v[1]` is second order in y and takes 1 condition at y = 1; there are 2"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field v[2]
  Δ(v) == [1, 0]
  v == [0, 0] at boundary
  v[1] == 1 at top
}
