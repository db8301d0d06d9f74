#! error E0704 9:1 "no consistent initial values at t = 0 near the ones given, with which `z^3 == y^3` is off by 1"
problem cubic() {
  domain t in [0, 0.9]
  field y, z
  y_t == -1
  z^3 == y^3
  y == 1 at t = 0
}
solve(cubic(), bdf())
