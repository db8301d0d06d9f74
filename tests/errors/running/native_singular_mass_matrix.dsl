#! error E0604 10:1 "no solution from t = 0 on: there the equations of dependent do not determine u_t, v_t, the matrix before them is singular; they may be right a little later, or be algebraic equations in disguise"
problem dependent() {
  domain t in [0, 1]
  field u, v
  u_t + v_t == -u
  2u_t + 2v_t == -v
  u == 1 at t = 0
  v == 0 at t = 0
}
solve(dependent(), rodas5p())
