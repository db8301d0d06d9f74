# A module that modules.dsl uses.
area(r) = pi * r^2
scale = 3
_hidden(x) = x + 1
visible(x) = _hidden(x) * scale
problem decay(k = 1.0) {
  domain t in [0, 1]
  field u
  u_t == -k*u
  u == 1 at t = 0
}
