#! error E0503 5:3-5:7 "this is second order in z and needs a condition on each of z = 0 and z = 1; z = 1 has none"
problem p {
  domain (x, y, z) in box([0, 1], [0, 1], [0, 1])
  field u
  Δ(u) == 1
  u == 0 at left, right, bottom, top, back
}
