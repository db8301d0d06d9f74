# cavity.dsl - steady lid-driven cavity flow at Re = 100 by a network.
#
# The reference is by finite elements. The speed of the lid falls to 0 at its
# ends, so that the solution is smooth (Shen, Hopf bifurcation of the unsteady
# regularized driven cavity flow, 1991).
problem cavity(Re = 100.0) {
  domain x in [0, 1], y in [0, 1]
  field u, v, p
  u*u_x + v*u_y + p_x == (u_xx + u_yy)/Re
  u*v_x + v*v_y + p_y == (v_xx + v_yy)/Re
  u_x + v_y == 0
  u == 0 at x = 0, x = 1, y = 0
  u == 16x^2*(1 - x)^2 at y = 1
  v == 0 at x = 0, x = 1, y = 0, y = 1
  p == 0 at (0.0, 0.0)
}
# quadratic elements with linear pressures, 1/64 wide: some 1e-4
reference = solve(cavity(), fem(h = 1/64, order = 2))
r = linspace(0, 1, 65)
at = (expand(r, 1), r)
rel(a, b) = norm(a - b) / norm(b)
# the worse one of the velocities
e(s) = max([rel(s.u(...at), reference.u(...at)), rel(s.v(...at), reference.v(...at))])

# Errors and seconds of five seeds, with their medians. The first seed includes
# compilation.
measure(name, target, solved) = {
  errors = zeros(5)
  times = zeros(5)
  for k in 0..5 {
    t = clock()
    (errors[k], steps, loss) = solved(k + 1)
    times[k] = clock() - t
    print(
      "  {name} seed {k + 1}: error {errors[k]:.2e}, {steps} steps, loss {loss:.1e}, "
      "{times[k]:.2f} s")
  }
  print(
    "{name}: median error {sort(errors)[2]:.2e}, worst {max(errors):.2e}; "
    "median {sort(times)[2]:.2f} s, with compilation {times[0]:.2f} s; target {target}")
}
measure("cavity Re = 100", "3e-3 in 60 s", k -> {
  s = solve(cavity(), pinn([20, 20, 20], 1000; steps = 50, refine = 0, seed = k))
  (e(s), s.stats.steps, s.stats.loss)
})
