# optimisers.dsl - comparison of the optimisers of pinn on two problems.
#
# The problems are Poisson's equation with one layer, and Burgers' equation of
# viscosity 0.02 with three. The numbers of steps make most optimisers take
# about the same time.
problem poisson() {
  domain x in [0, 1], y in [0, 1]
  field u
  u_xx + u_yy == -2π^2*sin(π*x)*sin(π*y)
  u == 0 at x = 0, x = 1, y = 0, y = 1
}
problem burgers(ν = 0.02) {
  domain t in [0, 1], x in [-1, 1] periodic
  field u
  u_t + u*u_x == ν*u_xx
  u == -sin(π*x) at t = 0
}
cole_hopf(t, x; ν = 0.02) = if t == 0 { -sin(π*x) } else {
  η = linspace(-1, 1, 4001) * (2.2 + 7*sqrt(4ν*t))
  y = expand(x, 1) - η
  g = -cos(π*y)/(2π*ν) - η^2/(4ν*t)
  E = exp(g - max(g; axis = 1, keepdims = true))
  -sum(sin(π*y)*E; axis = 1) / sum(E; axis = 1)
}
(r, x, times) = (linspace(0, 1, 101), linspace(-1, 1, 201), linspace(0, 1, 21))
waves = sin(π*expand(r, 1))*sin(π*r)
shock = map(t -> cole_hopf(t, x), times)
show(name, by, s, error, t) =
  print(
    "{name} by {by}: error {error:.1e}, loss {s.stats.loss:.1e}, {s.stats.steps} steps, "
    "{clock() - t:.1f} s")
for (by, steps) in list(("lm", 50), ("gauss_newton_cg", 50), ("ssbroyden", 1000), ("lbfgs", 1000),
  ("soap", 2000), ("adam", 2000)) {
  t = clock()
  s = solve(poisson(), pinn((64,), 512; steps = steps, refine = 0, trainer = by))
  show("Poisson", by, s, norm(s.u(expand(r, 1), r) - waves)/norm(waves), t)
}
for (by, steps) in list(("lm", 40), ("gauss_newton_cg", 40), ("ssbroyden", 800), ("lbfgs", 800),
  ("soap", 1000), ("adam", 1000)) {
  t = clock()
  s = solve(burgers(), pinn([16, 16, 16], 2048; steps = steps, refine = 0, trainer = by))
  show("Burgers", by, s, norm(s.u(expand(times, 1), x) - shock)/norm(shock), t)
}
