#! error E0604 8:1-8:25 "fv() wants u_t by itself with coefficient 1 in its equation: 2u_t + u_x == 0"
problem twice {
  domain t in [0, 1], x in [0, 1] periodic
  field u
  2u_t + u_x == 0
  u == sin(2π*x) at t = 0
}
solve(twice, fv(n = 10));
