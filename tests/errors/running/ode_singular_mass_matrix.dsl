#! error E0604 10:1 "initial values that are not consistent at t = 0: number 0 of (u, v) is off by 0.667; the matrix before the rates of dependent is singular, so that its equations do not leave every initial value free"
problem dependent() {
  domain t in [0, 1]
  field u, v
  u_t + v_t == -u
  2u_t + 2v_t == -v
  u == 1 at t = 0
  v == 0 at t = 0
}
solve(dependent(), bdf())
