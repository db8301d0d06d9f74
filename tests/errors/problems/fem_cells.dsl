#! error E0505 7:10-7:40 "fem has the cells simplices, boxes, not hexahedra"
problem p {
  domain x in [0, 1], y in [0, 1]
  field u
  -Δ(u) == 1
  u == 0 at boundary }
solve(p, fem(0.25, cells = "hexahedra"))
