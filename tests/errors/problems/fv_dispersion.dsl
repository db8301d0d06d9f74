#! error E0505 8:1-8:23 "fv() serves first derivatives by t, and first and second ones in space; fd(), fourier() and chebyshev() take others, and this is: u_t + 6u*u_x + u_xxx == 0"
problem kdv {
  domain t in [0, 1], x in [0, 1] periodic
  field u
  u_t + 6u*u_x + u_xxx == 0
  u == sin(2π*x) at t = 0
}
solve(kdv, fv(n = 10));
