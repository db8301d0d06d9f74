#! error E0703 11:12-11:107 "no solution with its derivatives beyond t = "
problem hanging_still(a) {
  domain t in [0, 30]
  field x[40], v[40], z[40]
  x_t == v
  v_t == -z
  z == 9sin(x)
  x == a + zeros(40) at t = 0
  v == zeros(40) at t = 0
}
still(a) = solve(hanging_still(a), bdf(max_steps = 2000); rtol = 1e-8, atol = 1e-10, saveat = [1.0, 30.0]).x(30.0)[0]
still'(0.0)
