#! error E0501 3:11-3:12 "the time `t` runs over an interval, not over a region"
problem p {
  domain (t, x) in disc(1)
  field u
  Δ(u) == 1
  u == 0 at boundary
}
