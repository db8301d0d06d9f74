#! error E0504 4:3-4:5 "' does not say with respect to which of the 2 coordinates; write `u_t` or `u_x`"
problem p {
  field u; domain t in [0, 1], x in [0, 1]
  u' == u_xx
  u == 1 at t = 0
  u == 0 at boundary
}
