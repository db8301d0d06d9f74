# The Korteweg–de Vries equation: a tall soliton overtakes a low one. Both
# continue unchanged, each slightly displaced. The exact solution is 6 sech² at
# t = 0 (Gardner, Greene, Kruskal and Miura, Phys. Rev. Lett. 19, 1967); the
# problem begins before they meet. The period is long enough to approximate the
# infinite line. pinn() needs long training for such waves
# (docs/methods/neural.md), and the Newton steps of rfm() from 0 do not find
# them. chebyshev() is the same as fourier() in periodic coordinates; fem() and
# fv() have no third derivatives.

pair(t, x) = 12(3 + 4cosh(2x - 8t) + cosh(4x - 64t))/(3cosh(x - 28t) + cosh(3x - 36t))^2
problem kdv {
  domain t in [-0.25, 0.25], x in [-12, 12] periodic
  field u
  u_t + 6u*u_x + u_xxx == 0
  u == pair(t, x) at t = -0.25
}

x = linspace(-12, 12, 301)
times = [-0.1, 0.0, 0.1, 0.25]
exact = map(t -> pair(t, x), times)
# On a period the trapezoidal rule is accurate to many digits: ∫ u = 12 and ∫ u²
# = 48.
y = -12 + 0.08*iota(300)
print("method                 error  mass, momentum change by")
methods = ((fourier(n = 192), 1e-5), (fourier(n = 192, time = cnab2(1e-4)), 1e-3),
  (fd(n = 400, order = 8), 1e-5))
for (k, (how, bound)) in enumerate(methods) {
  s = solve(kdv, how; rtol = 1e-7, atol = 1e-9)
  off = norm(map(t -> s.u(t, x), times) - exact)/norm(exact)
  mass = abs(0.08*sum(s.u(0.25, y)) - 12)/12
  momentum = abs(0.08*sum(s.u(0.25, y)^2) - 48)/48
  print(
    "{s.method:-8s} {("etdrk4", "cnab2", "radau5")[k]:-8s} {off:8.1e}  {mass:8.1e} {momentum:8.1e}")
  assert(off < bound and mass < bound and momentum < bound)
}
s = solve(kdv, fourier(n = 192), saveat = linspace(-0.25, 0.25, 101))
heatmap(s.x, s.times, s.values', title = "a soliton overtakes another", xlabel = "x", ylabel = "t",
  zlabel = "u", file = "kdv_solitons.png")
