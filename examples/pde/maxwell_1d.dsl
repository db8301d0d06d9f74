# Maxwell's equations on a line: a standing wave between mirrors, in a medium
# with the refractive index 1/(1 + x). There the speed of light is 1 + x, and
# the equation is Euler's in x. The exact field is E = √(1 + x) sin(k log(1 +
# x)) cos(ωt) with ω² = k² + 1/4. The unknowns are the displacement D = εE and
# H. Errors are relative, in L2, of D at t = 1.

problem resonator(k = 2π/log(2)) {
  domain t in [0, 1], x in [0, 1]
  field D, H
  ε = 1/(1 + x)^2
  D_t == ∂x(H)
  H_t == ∂x(D/ε)
  D == sin(k*log(1 + x))/(1 + x)^1.5 at t = 0
  H == 0 at t = 0
  D == 0 at x = 0, x = 1
}

k = 2π/log(2)
x = linspace(0.005, 0.995, 199)
D = sin(k*log(1 + x))/(1 + x)^1.5*cos(sqrt(k^2 + 0.25))
off(a, b) = norm(a - b)/norm(b)

print("                        error")
methods = (("fd", "101 points", fd(101), 1e-4), ("chebyshev", "24", chebyshev(24), 1e-5),
  ("fem", "order 2", fem(h = 1/32, order = 2), 2e-3), ("fv", "400 cells", fv(n = 400), 1e-3),
  ("rfm", "200 sines", rfm(200; bandwidth = 12.0), 1e-2))
for (name, size, how, bound) in methods {
  s = solve(resonator(), how)
  e = off(s.D(1, x), D)
  print("{name:-11s}{size:-11s}  {e:.1e}")
  assert(e < bound, "{name}: {e}")
}

s = solve(resonator(), chebyshev(24))
t = linspace(0, 1, 121)
heatmap(t, x, s.D(expand(t, 1), expand(x, 0)), title = "a wave between mirrors, D", xlabel = "t",
  ylabel = "x", dpi = 100, file = "maxwell_1d.png")
