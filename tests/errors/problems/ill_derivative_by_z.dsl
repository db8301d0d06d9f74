#! error E0504 5:21-5:22 "a derivative by `z`, which is no coordinate of this problem" second 3:11 "the coordinates are here"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  d(u, x, 2) + d(u, z, 2) == 1
  u == 0 at boundary
}
