# Helmholtz's equation: a field that oscillates four times as fast along y as
# along x, Δu + u = (1 - 17π²) sin(πx) sin(4πy) with u = sin(πx) sin(4πy).
# Networks learn the slow parts of a solution first; Wang, Teng and Perdikaris
# (2021) used this case to show the effect on gradient training.

problem helmholtz {
  domain x in [-1, 1], y in [-1, 1]
  field u
  Δ(u) + u == (1 - 17π^2)*sin(π*x)*sin(4π*y)
  u == 0 at boundary
}

exact(x, y) = sin(π*x)*sin(4π*y)
x = expand(linspace(-1, 1, 61), 1)
y = expand(linspace(-1, 1, 61), 0)
print("method       relative L2 error")
for (how, bound) in ((fd(n = 81, order = 4), 1e-3), (fd(n = 81, order = 8), 1e-5),
  (chebyshev(n = 40), 1e-9), (fem(h = 1/12, order = 3), 1e-2), (rfm(), 1e-8),
  (pinn([32], 1000; steps = 60), 1e-1)) {
  s = solve(helmholtz, how; progress = false)
  error = norm(s.u(x, y) - exact(x, y))/norm(exact(x, y))
  print("{s.method:-12s} {error:.1e}")
  assert(error < bound)
}
heatmap(ravel(x), ravel(y), solve(helmholtz, chebyshev(n = 40)).u(x, y), title = "sin(πx) sin(4πy)",
  xlabel = "x", ylabel = "y", aspect = 1, dpi = 120, file = "helmholtz.png")
