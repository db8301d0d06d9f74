#! error E0604 8:1-8:27 "fd() of order 4 needs at least 10 points in each coordinate here, not 9"
problem source {
  domain x in [0, 1], y in [0, 1]
  field u
  u_xx + u_yy == 1
  u == 0 at boundary
}
solve(source, fd([12, 9]))
