#! error E0503 6:13-6:18 "`y` is periodic and takes no condition at its ends"
problem p {
  domain x in [0, 1], y in [0, 1] periodic
  field u
  Δ(u) == 1
  u == 0 at y = 0
  u == 0 at x = 0, x = 1
}
