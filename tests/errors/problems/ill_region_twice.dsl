#! error E0501 3:39-3:46 "a problem has one region"
problem p {
  domain (x, y) in disc(1), (z, w) in disc(1)
  field u
  Δ(u) == 1
  u == 0 at boundary
}
