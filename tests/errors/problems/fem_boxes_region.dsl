#! error E0505 7:1-7:37 "fem(cells = \"boxes\") serves intervals, rectangles and boxes; p is on another region"
problem p {
  domain (x, y) in disk([0, 0], 1)
  field u
  -Δ(u) == 1
  u == 0 at boundary }
solve(p, fem(0.25, cells = "boxes"))
