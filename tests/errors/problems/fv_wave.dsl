#! error E0505 9:1-9:19 "fv() wants one equation with u_t for the field u, as in u_t + ∂x(...) == 0; there are 0"
problem wave {
  domain t in [0, 1], x in [0, 1] periodic
  field u
  u_tt == u_xx
  u == sin(2π*x) at t = 0
  u_t == 0 at t = 0
}
conservation(wave);
