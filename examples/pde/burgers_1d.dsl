# Burgers' equation with little viscosity: a sine steepens into a layer of width
# ν/u in the middle. It is a common test, because methods need points in the
# layer, or many. The exact solution (Cole 1951, Hopf 1950) is a quotient of
# integrals, computed here by the trapezoidal rule. It is checked against the
# value at ν = 0.01/π of the standard test by Basdevant and others (Comput.
# Fluids 14, 1986). rfm() suits solutions without layers; fourier() needs a
# period.

problem burgers(ν = 0.02) {
  domain t in [0, 1], x in [-1, 1]
  field u
  u_t + u*u_x == ν*u_xx
  u == -sin(π*x) at t = 0
  u == 0         at x = -1, x = 1
}

# u = -∫ sin(π(x-η)) E dη / ∫ E dη with E = exp(-cos(π(x-η))/(2πν) - η²/(4νt))
cole_hopf(t, x; ν = 0.02) = {
  η = linspace(-1, 1, 4001)*(2.2 + 7*sqrt(4ν*t))
  y = expand(x, 1) - η
  g = -cos(π*y)/(2π*ν) - η^2/(4ν*t)
  E = exp(g - max(g; axis = 1, keepdims = true))
  -sum(sin(π*y)*E; axis = 1)/sum(E; axis = 1)
}
assert(abs(cole_hopf(0.5, [0.05]; ν = 0.01/π)[0] + 0.978982178395071) < 1e-12)

times = [0.25, 0.5, 0.75, 1.0]
x = linspace(-1, 1, 201)
exact = map(t -> cole_hopf(t, x), times)
off(s) = norm(map(t -> s.u(t, x), times) - exact)/norm(exact)
methods = (fd(n = 401), chebyshev(n = 96, cluster = (0.0, 0.1)), fem(h = 0.01, order = 2),
  fv(n = 400, reconstruct = "weno5"), pinn([16, 16], 800; steps = 40, odd = "x"))
print("method        error")
for (how, bound) in zip(methods, (1e-5, 1e-6, 1e-5, 1e-3, 2e-3)) {
  s = solve(burgers(), how; rtol = 1e-7, atol = 1e-9)
  print("{s.method:-10s} {off(s):8.1e}")
  assert(off(s) < bound)
}
plot(solve(burgers(), fd(n = 401)), times = [0.0, 0.25, 0.5, 1.0], title = "Burgers, ν = 0.02",
  dpi = 100, file = "burgers_1d.png")
