#! error E0505 8:1-8:25 "fv() wants u_t by itself in its equation, with a number as its factor: (1 + x)*u_t + u_x == 0"
problem dense {
  domain t in [0, 1], x in [0, 1] periodic
  field u
  (1 + x)*u_t + u_x == 0
  u == sin(2π*x) at t = 0
}
solve(dense, fv(n = 10));
