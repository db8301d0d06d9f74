problem packet {
  domain t in [0, 1], x in [-1, 1]
  field u, v
  u_t == -v_xx
  v_t == u_xx
  u == cos(π*x/2) at t = 0
  v == 0          at t = 0
  u == 0          at boundary
  v == 0          at boundary
}
solve(packet, fd(n = 41, order = 8))
#! error E0505 11:1-11:37 "fd(order = 8) makes waves grow beside walls"
