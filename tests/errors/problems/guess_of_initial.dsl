#! error E0505 8:1-8:38 "bdf() does not begin with a guess; collocation() and shooting() do"
problem p {
  domain t in [0, 1]
  field u
  u_t == -u
  u == 1 at t = 0
}
solve(p(), bdf(), guess = (u = 1.0,))
