#! error E0701 10:1 "(the rate of v), whatever the step; the last values are u = 1, v = -1.0000"
problem leaving() {
  domain t in [0, 2]
  field u, v
  u_t == 1
  v_t == log(1 - u)
  u == 0 at t = 0
  v == 0 at t = 0
}
solve(leaving(), adams())
