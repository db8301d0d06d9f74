#! error E0604 7:1-7:28 "chebyshev(n) needs n of at least 2 here, not 1"
problem source {
  domain x in [0, 1]
  field u
  u_xx == 1
  u == 0 at boundary }
solve(source, chebyshev(1))
