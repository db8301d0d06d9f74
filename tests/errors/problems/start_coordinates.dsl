#! error E0505 16:1-16:23 "start is a solution in (t), and heat has (t, x)"
problem heat {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == sin(π*x) at t = 0
  u == 0 at x = 0, x = 1
}
problem decay {
  domain t in [0, 0.1]
  field u
  u_t == -u
  u == 1 at t = 0
}
a = solve(decay);
solve(heat; start = a)
