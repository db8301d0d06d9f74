# The Allen–Cahn equation: two phases, u = 1 and u = -1, form quickly from
# ripples. The interfaces between them have the width √(2ε/5) and then hardly
# move (S. M. Allen and J. W. Cahn, Acta Metall. 27, 1979). There is no solution
# in closed form; the reference is a finer solution. fem() needs boundaries
# instead of a period. The Newton steps of rfm() from 0, an unstable state, do
# not find this solution.

problem phases(ε = 0.01) {
  domain t in [0, 1], x in [-1, 1] periodic
  field u
  u_t == ε*u_xx + 5u - 5u^3
  u == 0.2cos(π*x) + 0.5cos(2π*x) at t = 0
}

x = linspace(-1, 1, 201)
times = [0.25, 0.5, 0.75, 1.0]
values(s) = map(t -> s.u(t, x), times)
best = values(solve(phases(), fourier(n = 256), rtol = 1e-9, atol = 1e-11))
methods = ((fourier(n = 96), 1e-5), (fourier(n = 96, time = cnab2(1e-3)), 1e-4),
  (chebyshev(n = 96), 1e-5), (fd(n = 256), 1e-4), (fv(n = 400), 1e-3),
  (pinn([12, 12], 500; steps = 30, even = "x", slabs = 2), 2e-2))
print("method               error")
for (k, (how, bound)) in enumerate(methods) {
  s = solve(phases(), how; rtol = 1e-7, atol = 1e-9)
  off = norm(values(s) - best)/norm(best)
  print("{s.method:-10s} {("etdrk4", "cnab2", "bdf", "bdf", "muscl", "lm")[k]:-8s} {off:8.1e}")
  assert(off < bound)
}
plot(solve(phases(), fd(n = 256)), times = [0.0, 0.1, 0.2, 0.4, 1.0], title = "two phases",
  dpi = 100, file = "allen_cahn.png")
