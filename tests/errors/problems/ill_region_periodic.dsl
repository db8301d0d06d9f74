#! error E0501 3:10-3:36 "`periodic` is for intervals and boxes"
problem p {
  domain (x, y) in disc(1) periodic
  field u
  Δ(u) == 1
  u == 0 at boundary
}
