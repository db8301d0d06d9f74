# kovasznay.dsl - Kovasznay's flow at Re = 20 (1948) by a network.
#
# Velocity and pressure are compared with the closed form.
problem kovasznay(Re = 20.0) {
  domain x in [-0.5, 1], y in [-0.5, 1.5]
  field u, v, p
  λ = Re/2 - sqrt(Re^2/4 + 4π^2)
  u*u_x + v*u_y + p_x == (u_xx + u_yy)/Re
  u*v_x + v*v_y + p_y == (v_xx + v_yy)/Re
  u_x + v_y == 0
  u == 1 - exp(λ*x)*cos(2π*y) at x = -0.5, x = 1, y = -0.5, y = 1.5
  v == λ/(2π)*exp(λ*x)*sin(2π*y) at x = -0.5, x = 1, y = -0.5, y = 1.5
  p == (1 - exp(2λ*x))/2 at x = 1
}
λ = 10 - sqrt(100 + 4π^2)
(x, y) = (expand(linspace(-0.5, 1, 61), 1), linspace(-0.5, 1.5, 61))
rel(a, b) = norm(a - b) / norm(b)
# the worst of the three
e(s) =
  max([rel(s.u(x, y), 1 - exp(λ*x)*cos(2π*y)), rel(s.v(x, y), λ/(2π)*exp(λ*x)*sin(2π*y)),
    rel(s.p(x, y), (1 - exp(2λ*x))/2 + 0*y)])

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
measure("Kovasznay Re = 20", "1e-6 in 10 s", k -> {
  s = solve(kovasznay(), pinn([20, 20, 20], 600; steps = 90, refine = 0, seed = k))
  (e(s), s.stats.steps, s.stats.loss)
})
