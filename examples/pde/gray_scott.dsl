# The Gray–Scott model: one substance feeds on the other and decays. Its spots
# grow into rings that open and fill the plane (P. Gray and S. K. Scott, Chem.
# Eng. Sci. 38, 1983; J. E. Pearson, Science 261, 1993, with these diffusion
# constants). There is no exact solution; the reference is a finer solution at t
# = 100, when the spots have become rings. fem() needs boundaries instead of a
# period; networks and random features do not resolve so many layers.

spot(x, y) = exp(-600*((x - 0.21)^2 + (y - 0.22)^2)) + exp(-600*((x - 0.33)^2 + (y - 0.27)^2))
problem spots(F = 0.037, k = 0.06) {
  domain t in [0, 600], x in [0, 0.5] periodic, y in [0, 0.5] periodic
  field u, v
  u_t == 2e-5*lap(u) - u*v^2 + F*(1 - u)
  v_t == 1e-5*lap(v) + u*v^2 - (F + k)*v
  u == 1 - 0.5*spot(x, y) at t = 0
  v == 0.3*spot(x, y)     at t = 0
}

x = linspace(0, 0.5, 33)
field_of(s, t, x) = map(a -> map(b -> s.v(t, a, b), x), x)
best = field_of(solve(spots(), fourier(n = 64); t = (0, 100), rtol = 1e-6), 100, x)
print("method               error")
methods = ((fourier(n = 40), 1e-2), (fourier(n = 40, time = cnab2(0.25)), 1e-2),
  (fd(n = 36, order = 6), 3e-2), (fv(n = 96), 3e-2))
for (k, (how, bound)) in enumerate(methods) {
  s = solve(spots(), how; t = (0, 100), rtol = 1e-4, atol = 1e-6)
  off = norm(field_of(s, 100, x) - best)/norm(best)
  print("{s.method:-8s} {("etdrk4", "cnab2", "bdf", "muscl")[k]:-8s} {off:8.1e}")
  assert(off < bound)
}
s = solve(spots(), fourier(n = 48), rtol = 1e-4, saveat = [100.0, 300.0, 600.0])
y = linspace(0, 0.5, 81)
subplots(
  ...map(t -> heatmap(y, y, field_of(s, t, y), title = "v at t = {t}", map = "viridis", aspect = 1),
    (100.0, 300.0, 600.0)),
  cols = 3, size = (8, 2.8), dpi = 90, file = "gray_scott.png")
