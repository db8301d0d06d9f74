#! error E0201 5:11-5:13 "no `kk`"
problem p {
  domain t in [0, 1]
  field u
  u_t == -kk*u
  u == 1 at t = 0
}
p()
