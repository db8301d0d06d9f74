#! error E0503 6:4-6:8 "this is second order in space and needs a condition on `u` on the boundary of the region; there is none" second 4:10 "the region is here"
disc = (lo = (-1.0, -1.0), hi = (1.0, 1.0))
problem p {
  domain (x, y) in disc
  field u
  -Δ(u) == 1
}
