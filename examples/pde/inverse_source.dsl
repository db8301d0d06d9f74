# Where is the source? A plate whose edges are kept at 0 is heated at an unknown
# place (a, b) with an unknown strength q, and twelve thermometers inside of it
# are read. The parameters follow by least squares with the equation as a
# constraint: fit() differentiates through the solution. The readings are the
# solution for (0.3, 0.6) and q = 50 with noise of one part in a hundred; "off"
# counts standard deviations.

problem heated(a = 0.5, b = 0.5, q = 20) {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  -Δ(u) == q*exp(-((x - a)^2 + (y - b)^2)/0.02)
  u == 0 at boundary
}

seed(4)
truth = solve(heated(0.3, 0.6, 50), chebyshev(40))
(x, y) =
  (ravel([0.2 + 0.2i + 0*j for i in 0..4, j in 0..3]),
    ravel([0*i + 0.25 + 0.25j for i in 0..4, j in 0..3]))
exact = truth.u(x, y)
data = (x = x, y = y, u = exact + 0.01*max(exact)*randn(12))

print("            a        b        q       off")
for (name, how) in (("fd", fd(n = 31)), ("chebyshev", chebyshev(n = 20)),
  ("fem", fem(h = 1/12, order = 2))) {
  r = fit(heated, data; for = (a, b, q), by = how, progress = false)
  off = max(stack(abs(r.a - 0.3)/r.std.a, abs(r.b - 0.6)/r.std.b, abs(r.q - 50)/r.std.q))
  print("{name:-10s}  {r.a:.4f}   {r.b:.4f}   {r.q:.3f}  {off:.1f}")
  assert(off < 3 and r.std.a < 0.02 and r.std.b < 0.02, "{name}: {r.p} {r.std}")
}

r = fit(heated, data; for = (a, b, q), by = chebyshev(n = 20), progress = false)
g = linspace(0, 1, 61)
overlay(contourf(g, g, r.solution.u(expand(g, 1), expand(g, 0))),
  scatter(x, y, colour = "black", label = "thermometers"), scatter([0.3], [0.6], colour = "red",
    label = "source"), title = "the source that was found", xlabel = "x", ylabel = "y",
  aspect = 1, legend = "outside", dpi = 100, file = "inverse_source.png")
