#! error E0503 6:20-6:27 "x = 1/2 is not an end of the domain" second 3:11 "`x` runs from 0 to 1"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  Δ(u) == 1
  u == 0 at x = 0, x = 1/2, y = 0, y = 1
}
