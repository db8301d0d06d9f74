#! error E0505 7:1 "fv() does not serve the events of advection"
problem advection {
  domain t in [0, 1], x in [0, 1] periodic
  field u
  u_t + u_x == 0; u == sin(2π*x) at t = 0
  event half: t - 0.5 terminal }
solve(advection, fv(n = 50))
