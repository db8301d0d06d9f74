#! error E0604 9:1 "no solution from t = 0 on: there the equations of bessel do not determine u_tt, the matrix before them is singular; they may be right a little later, or be algebraic equations in disguise"
problem bessel() {
  domain t in [0, 1]
  field u
  t*u_tt + u_t + t*u == 0
  u == 1 at t = 0
  u_t == 1 at t = 0
}
solve(bessel(), bdf())
