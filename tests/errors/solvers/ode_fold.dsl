#! error E0702 9:1 "the step became too small" hint "the equations may jump there, or no longer determine an unknown that has no time derivative; tighter rtol and atol can help too"
problem folding() {
  domain t in [0, 2]
  field y, z
  y_t == -1
  z^2 + z == y
  y == 1 at t = 0
}
solve(folding(), bdf())
