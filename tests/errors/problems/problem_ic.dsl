#! error E0503 5:3-5:6 "this is first order in t and needs 1 initial condition for `u`; there are 0" hint "write u == ... at t = 0"
problem p {
  domain t in [0, 1]
  field u
  u_t == -u
}
