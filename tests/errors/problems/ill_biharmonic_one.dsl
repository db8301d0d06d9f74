#! error E0503 6:3-6:10 "this is fourth order in x and needs 2 conditions on each of x = 0 and x = 1; x = 1 has 1"
#! error E0503 6:3-6:10 "this is fourth order in y and needs 2 conditions on each of y = 0 and y = 1; y = 1 has 1"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  Δ(Δ(u)) == 1
  u == 0 at boundary
}
