#! error E0503 8:13-8:18 "`two` takes 2 conditions at the ends of x; there are 3"
problem two {
  domain x in [0, 1]
  field u, v
  u_x == v
  v_x == -u
  u == 0 at x = 0, x = 1
  v == 1 at x = 0
}
