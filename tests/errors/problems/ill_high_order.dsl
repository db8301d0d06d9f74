#! error E0501 2:9-2:10 "more than 255 different derivatives"
problem p {
  domain x in [0, 1] periodic
  field u
  d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(d(u, x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16), x, 16) == u
}
solve(p)
