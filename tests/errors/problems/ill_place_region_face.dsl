#! error E0504 7:13-7:18 "`x` runs over a region, whose parts have names: `boundary` is all of it" second 4:10 "the region is here"
disc = (lo = (-1.0, -1.0), hi = (1.0, 1.0))
problem p {
  domain (x, y) in disc
  field u
  -Δ(u) == 1
  u == 0 at x = 1
}
