#! error E0504 6:26-6:31 "no part of the boundary is called `botom`; did you mean `bottom`?"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  Δ(u) == 1
  u == 0 at left, right, botom, top
}
