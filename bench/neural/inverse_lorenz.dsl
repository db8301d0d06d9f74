# inverse_lorenz.dsl - the parameters of Lorenz' equations (1963) from data.
#
# The data are values on t in [0, 3] without noise. Random features and a
# network fit the three parameters, starting from 1 for each.
problem lorenz(a = 1.0, b = 1.0, c = 1.0) {
  domain t in [0, 3]
  field x, y, z
  x_t == a*(y - x)
  y_t == x*(b - z) - y
  z_t == x*y - c*z
  x == -8 at t = 0
  y == 7  at t = 0
  z == 27 at t = 0
}
truth = [10, 15, 8/3]
s = solve(lorenz(10.0, 15.0, 8/3), dop853(), rtol = 1e-13, atol = 1e-13)
t = linspace(0, 3, 101)
data = (t = t, x = s.x(t), y = s.y(t), z = s.z(t))
# The largest relative errors of the parameters and the seconds of five seeds,
# with their medians.
measure(name, by) = {
  (errors, times) = (zeros(5), zeros(5))
  for k in 0..5 {
    c = clock()
    r = fit(lorenz, data; by = by(k + 1), progress = false)
    times[k] = clock() - c
    errors[k] = max(abs([r.a, r.b, r.c]/truth - 1))
    print("  {name} seed {k + 1}: {errors[k]:.2e}, {r.message}, {times[k]:.1f} s")
  }
  print(
    "Lorenz inverse, {name}: median error {sort(errors)[2]:.2e}, worst {max(errors):.2e}; "
    "median {sort(times)[2]:.1f} s")
}
measure("rfm", k -> rfm(200; seed = k))
measure("pinn", k -> pinn([20, 20], 300; steps = 280, refine = 0, frequency = 2.0, seed = k))
