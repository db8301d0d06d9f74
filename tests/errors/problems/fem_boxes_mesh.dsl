#! error E0505 7:1-7:70 "fem(cells = \"boxes\") is given a mesh of simplices"
problem p {
  domain x in [0, 1], y in [0, 1]
  field u
  -Δ(u) == 1
  u == 0 at boundary }
solve(p, fem(mesh = mesh(box([0, 1], [0, 1]), 0.5), cells = "boxes"))
