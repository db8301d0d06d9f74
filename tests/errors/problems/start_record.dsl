#! error E0505 9:1-9:29 "start is a solution, as solve gives it, and not any record"
problem heat {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == sin(π*x) at t = 0
  u == 0 at x = 0, x = 1
}
solve(heat; start = (u = 1))
