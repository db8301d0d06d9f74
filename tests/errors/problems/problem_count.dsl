#! error E0502 2:9-2:10 "2 unknowns and 1 equation in `p`" second 4:12 "no equation has `v`"
problem p {
  domain t in [0, 1]
  field u, v
  u_t == -u
  u == 1 at t = 0
}
