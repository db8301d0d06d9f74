#! error E0505 20:1-20:35 "start has no field v; it has u"
problem heat {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == sin(π*x) at t = 0
  u == 0 at x = 0, x = 1
}
problem pair {
  domain t in [0, 1], x in [0, 1]
  field u, v
  u_t == u_xx
  v_t == v_xx
  u == 0 at t = 0
  v == 0 at t = 0
  u == 0 at x = 0, x = 1
  v == 0 at x = 0, x = 1
}
a = solve(heat, fd(n = 11); t = (0, 0.1));
solve(pair, fd(n = 11); start = a)
