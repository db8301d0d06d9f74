# one-sided differences of order 6 and 8 make waves between ends grow: by order 6 this one was off by 6e10 at t = 3
#! error E0505 9:1 "fd() of order 6 is not stable for waves between ends, where its differences are one-sided; order = 4 is, and chebyshev() gives more digits"
problem along {
  domain t in [0, 3], x in [0, 1]
  field u
  u_t == -u_x
  u == sin(6x) at t = 0; u == -sin(6t) at x = 0
}
solve(along, fd(41, 6))
