# Waves on a string: two notes that are struck together, u_tt = 4 u_xx from
# rest, so that u = sin(πx) cos(2πt) + sin(4πx) cos(8πt)/2. It is problem 1d-C
# of the benchmark PINNacle (Hao et al. 2023), where the best of a dozen ways to
# train a network reaches 6.5e-2. pinn() is omitted, because it trains too
# slowly here. fem() and fv() solve problems of first order in t.

problem wave {
  domain t in [0, 1], x in [0, 1]
  field u
  u_tt == 4u_xx
  u == sin(π*x) + sin(4π*x)/2 at t = 0
  u_t == 0                    at t = 0
  u == 0                      at boundary
}

exact(t, x) = sin(π*x)*cos(2π*t) + sin(4π*x)*cos(8π*t)/2
x = linspace(0, 1, 101)
t = linspace(0, 1, 41)
grid(f) = map(s -> f(s, x), t)
print("method       relative L2 error over all times")
for (how, bound) in ((fd(n = 81, order = 4), 1e-4), (fd(n = 81, order = 6), 1e-6),
  (chebyshev(n = 32), 1e-6), (rfm(), 1e-9)) {
  s = solve(wave, how; rtol = 1e-8, atol = 1e-10, progress = false)
  error = norm(grid(s.u) - grid(exact))/norm(grid(exact))
  print("{s.method:-12s} {error:.1e}")
  assert(error < bound)
}
heatmap(x, t, grid(solve(wave, rfm()).u)', title = "a string with two notes", xlabel = "x",
  ylabel = "t", dpi = 120, file = "wave.png")
