#! error E0604 12:1-12:40 "fv(flux = \"hllc\") is for compressible flow: fields density, momenta and energy, in this order, with fluxes m, m*u + p, (E + p)*u; \"hll\" serves any system"
problem three {
  domain t in [0, 1], x in [0, 1] periodic
  field a, b, c
  a_t + b_x == 0
  b_t + a_x == 0
  c_t + c_x == 0
  a == sin(2π*x) + 2 at t = 0
  b == 0 at t = 0
  c == 0 at t = 0
}
solve(three, fv(n = 10, flux = "hllc"));
