#! error E0505 16:1-16:24 "start is for problems in t; still has none, and takes a guess"
problem heat {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == sin(π*x) at t = 0
  u == 0 at x = 0, x = 1
}
problem still {
  domain x in [0, 1]
  field u
  u_xx == 1
  u == 0 at x = 0, x = 1
}
a = solve(heat, fd(n = 11); t = (0, 0.1));
solve(still; start = a)
