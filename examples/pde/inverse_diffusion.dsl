# Two unknown parameters from measurements: a bar of temperature 1 is held at
# its left end and loses heat at its right. Its diffusivity D and heat-loss
# coefficient h are estimated from 80 noisy readings of four thermometers. fit()
# differentiates whichever method solves the problem. The readings are the
# solution for D = 0.4, h = 1.2 with noise of 0.005; "off" counts standard
# deviations.

problem cooling(D = 0.2, h = 0.6) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == ∂x(D*u_x)
  u == 1 at t = 0
  u == 1 at x = 0
  D*u_x == -h*u at x = 1
}

seed(3)
truth = solve(cooling(0.4, 1.2), chebyshev(32); rtol = 1e-9, atol = 1e-11)
(t, x) = (repeat(linspace(0.05, 1, 20), 4), ravel([0*i + 0.4 + 0.2j for i in 0..20, j in 0..4]))
data = (t = t, x = x, u = truth.u(t, x) + 0.005randn(80))

print("                    D                  off   h                  off")
for (name, how) in (("fd", fd(n = 31)), ("chebyshev", chebyshev(n = 12)),
  ("fem", fem(h = 1/6, order = 2))) {
  r = fit(cooling, data; for = (D, h), by = how, progress = false)
  (a, b) = (abs(r.D - 0.4)/r.std.D, abs(r.h - 1.2)/r.std.h)
  print("{name:-11s}  {r.D:.5f} ± {r.std.D:.5f}  {a:.1f}  {r.h:.5f} ± {r.std.h:.5f}  {b:.1f}")
  assert(a < 3 and b < 3 and r.std.D < 0.01, "{name}: {r.p}")
}

r = fit(cooling, data; for = (D, h), by = chebyshev(n = 12), progress = false)
at = linspace(0, 1, 101)
rows = [0.4, 0.6, 0.8, 1.0]
overlay(plot(at, r.solution.u(expand(at, 1), expand(rows, 0)),
  labels = list("x = 0.4", "x = 0.6", "x = 0.8", "x = 1")),
  scatter(t, data.u), title = "a bar cools at one end", xlabel = "t", ylabel = "temperature",
  legend = "outside", dpi = 100, file = "inverse_diffusion.png")
