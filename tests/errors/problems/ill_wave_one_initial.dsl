#! error E0503 5:3-5:7 "this is second order in t and needs 2 initial conditions for `u`; there is 1" hint "write u_t == ... at t = 0"
problem p {
  domain t in [0, 1], x in [0, 1]
  field u
  u_tt == u_xx
  u == sin(π*x) at t = 0
  u == 0 at boundary
}
