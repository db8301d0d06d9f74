#! error E0503 6:20-6:25 "x = 2 is not an end of the domain" second 3:10 "`x` runs from 0 to 1"
problem p {
  domain x in [0, 1]
  field u
  d(u, x, 2) == 1
  u == 0 at x = 0, x = 2
}
