# burgers.dsl - Burgers' equation with viscosity 0.01/π by a network.
#
# The reference is the exact solution (Cole 1951, Hopf 1950). The initial sine
# is odd about 0 and ±1, and the solution stays so. Periodic and zero boundary
# conditions therefore have the same solution. With periodic ones the network
# needs no factor that imposes the boundary values.
problem burgers(ν = 0.01/π) {
  domain t in [0, 1], x in [-1, 1] periodic
  field u
  u_t + u*u_x == ν*u_xx
  u == -sin(π*x) at t = 0
}
cole_hopf(t, x; ν = 0.01/π) = if t == 0 { -sin(π*x) } else {
  η = linspace(-1, 1, 4001) * (2.2 + 7*sqrt(4ν*t))
  y = expand(x, 1) - η
  g = -cos(π*y)/(2π*ν) - η^2/(4ν*t)
  E = exp(g - max(g; axis = 1, keepdims = true))
  -sum(sin(π*y)*E; axis = 1) / sum(E; axis = 1)
}
x = linspace(-1, 1, 201)
times = linspace(0, 1, 21)
exact = map(t -> cole_hopf(t, x), times)
e(u) = norm(u(expand(times, 1), x) - exact) / norm(exact)

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
measure("Burgers 0.01/π, 90 steps", "1e-5 in 15 s", k -> {
  s = solve(burgers(), pinn([20, 20, 20], 4096; steps = 90, refine = 20, seed = k))
  (e(s.u), s.stats.steps, s.stats.loss)
})
measure("Burgers 0.01/π, 160 steps", "3e-6 in 30 s", k -> {
  s = solve(burgers(), pinn([20, 20, 20], 4096; steps = 160, refine = 20, seed = k))
  (e(s.u), s.stats.steps, s.stats.loss)
})
