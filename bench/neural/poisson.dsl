# poisson.dsl - Poisson's equation on the square by one layer of 64.
problem poisson() {
  domain x in [0, 1], y in [0, 1]
  field u
  u_xx + u_yy == -2π^2*sin(π*x)*sin(π*y)
  u == 0 at x = 0, x = 1, y = 0, y = 1
}
r = linspace(0, 1, 101)
exact = sin(π*expand(r, 1))*sin(π*r)
e(u) = norm(u(expand(r, 1), r) - exact) / norm(exact)

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
measure("Poisson 2-D, 2-64-1", "1e-8 in 0.5 s", k -> {
  s = solve(poisson(), pinn((64,), 512; steps = 50, refine = 0, seed = k))
  (e(s.u), s.stats.steps, s.stats.loss)
})
