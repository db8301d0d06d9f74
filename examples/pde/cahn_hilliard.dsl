# The Cahn–Hilliard equation: a mixture of two immiscible liquids separates. The
# amount of each is conserved, and the energy of the interfaces falls (J. W.
# Cahn and J. E. Hilliard, J. Chem. Phys. 28, 1958). There is no exact solution;
# the reference is a finer solution. fem() and fv() have no fourth derivatives,
# and networks and random features do not resolve interfaces that form from
# ripples.

ripples(x, y) = 0.1cos(2π*x)*cos(4π*y) + 0.05sin(6π*x + 2π*y) + 0.05cos(4π*(x - y))
problem demixing(ε = 0.03) {
  domain t in [0, 0.02], x in [0, 1] periodic, y in [0, 1] periodic
  field u
  u_t == lap(u^3 - u - ε^2*lap(u))
  u == ripples(x, y) at t = 0
}

x = linspace(0, 1, 33)
field_of(s, x) = map(a -> map(b -> s.u(0.02, a, b), x), x)
best = field_of(solve(demixing(), fourier(n = 64), rtol = 1e-7, saveat = [0.02]), x)
print("method               error    mean")
methods = ((fourier(n = 48), 1e-3), (fourier(n = 48, time = cnab2(2e-5)), 1e-3),
  (fd(n = 36, order = 6), 0.05))
for (k, (how, bound)) in enumerate(methods) {
  s = solve(demixing(), how; rtol = 1e-5, atol = 1e-7, saveat = [0.02])
  off = norm(field_of(s, x) - best)/norm(best)
  print("{s.method:-8s} {("etdrk4", "cnab2", "bdf")[k]:-8s} {off:8.1e} {mean(s.values[-1]):8.1e}")
  assert(off < bound and abs(mean(s.values[-1])) < bound)
}
s = solve(demixing(), fourier(n = 64), rtol = 1e-5, saveat = [0.0, 0.008, 0.02])
y = linspace(0, 1, 81)
subplots(...map(t -> heatmap(y, y, map(a -> map(b -> s.u(t, a, b), y), y), title = "t = {t}",
  aspect = 1), (0.0, 0.008, 0.02)),
  cols = 3, size = (8, 2.8), dpi = 90, file = "cahn_hilliard.png")
