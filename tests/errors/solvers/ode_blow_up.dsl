#! error E0702 8:1 "the step became too small to change t; the last value of u is"
problem explosion() {
  domain t in [0, 2]
  field u
  u_t == u^2
  u == 1 at t = 0
}
solve(explosion(), bdf())
