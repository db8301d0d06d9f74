#! error E0604 10:1-10:25 "fv() wants a hyperbolic system, and the speeds of its waves along x are not real: the derivative of the flux has eigenvalues with imaginary part 1 at the beginning"
problem mixed {
  domain t in [0, 1], x in [0, 1] periodic
  field p, v
  p_t + v_x == 0
  v_t - p_x == 0
  p == sin(2π*x) at t = 0
  v == 0 at t = 0
}
solve(mixed, fv(n = 10));
