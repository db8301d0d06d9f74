#! error E0505 9:1 "fem() does not serve the events of heat"
problem heat {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == sin(π*x) at t = 0
  u == 0 at x = 0, x = 1
  event half: t - 0.5 terminal }
solve(heat, fem(h = 0.1))
