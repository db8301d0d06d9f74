#! error E0505 7:1-7:51 "fem(adapt = ...) cuts some cells in two, which simplices allow"
problem p {
  domain x in [0, 1], y in [0, 1]
  field u
  -Δ(u) == 1
  u == 0 at boundary }
solve(p, fem(0.25, cells = "boxes", adapt = 1e-2))
