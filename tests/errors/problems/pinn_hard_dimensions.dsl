#! error E0505 8:1-8:41 "pinn(hard = true) builds conditions in along 4 coordinates at most, and here are conditions along 5; without hard they are rows of their own"
problem five {
  domain a in [0, 1], b in [0, 1], c in [0, 1], d0 in [0, 1], e in [0, 1]
  field u
  lap(u) == 0
  u == a at boundary
}
solve(five, pinn([8], 100; hard = true));
