#! error E0504 5:11-5:18 "a gradient needs a space coordinate"
problem p {
  domain t in [0, 1]
  field u
  u_t == -grad(u)[0]
  u == 1 at t = 0
}
solve(p(), bdf())
