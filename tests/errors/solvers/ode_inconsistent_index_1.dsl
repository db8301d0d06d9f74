#! error E0704 9:1 "no consistent initial values at t = 0 near the ones given, with which `z^2 + 1 == y` is off by 1"
problem nowhere() {
  domain t in [0, 1]
  field y, z
  y_t == -z
  z^2 + 1 == y
  y == 0 at t = 0
}
solve(nowhere(), bdf())
