#! error E0501 3:20-3:47 "a box of 3 intervals for 2 coordinates"
problem p {
  domain (x, y) in box([0, 1], [0, 1], [0, 1])
  field u
  Δ(u) == 1
  u == 0 at boundary
}
