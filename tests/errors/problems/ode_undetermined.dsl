#! error E0505 9:1 "the equations of loose do not determine every unknown: `x == cos(t)` has no unknown that another equation does not need"
problem loose() {
  domain t in [0, 1]
  field x, y
  x == cos(t)
  x_t == -sin(t)
  x == 1 at t = 0
}
solve(loose(), bdf())
