#! error E0604 10:1 "no solution beyond t = "
problem leaving() {
  domain t in [0, 2]
  field u, v
  u_t == 1
  v_t == log(1 - u)
  u == 0 at t = 0
  v == 0 at t = 0
}
solve(leaving(), dop853())
