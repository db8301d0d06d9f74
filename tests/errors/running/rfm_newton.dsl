#! error E0604 8:1-8:27 "burgers: Newton's method has found no solution with 100 random features"
problem burgers(ν = 0.005) {
  domain t in [0, 1], x in [-1, 1]
  field u
  u_t + u*u_x == ν*u_xx
  u == -sin(π*x) at t = 0
  u == 0         at x = -1, x = 1 }
solve(burgers(), rfm(100)).u(0.5, 0.25)
