# The eikonal equation with a little viscosity: u is nearly the distance from
# the boundary of a square, with ridges rounded over a width ε. The substitution
# w = exp(-u/ε) makes it linear, ε²Δw = w with w = 1 on the boundary (the
# transformation of E. Hopf 1950 and J. D. Cole 1951). The exact solution is a
# sum of sines and hyperbolic cosines. Errors are relative, in L2. pinn() is
# omitted: from its random start it converges to -u, which satisfies the
# equation except in layers on the ridges.

problem eikonal(ε = 0.1) {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  grad(u)@grad(u) - ε*Δ(u) == 1
  u == 0 at boundary
}

# w: a part that depends on x alone, and modes that correct it at y = 0 and y =
# 1.
c = 10.0
n = 1 + 2*iota(60)
w(x, y) = {
  s = sqrt(c^2 + (n*π)^2)
  own = (exp(-s*y) + exp(-s*(1 - y)))/(1 + exp(-s))
  (exp(-c*x) + exp(-c*(1 - x)))/(1 + exp(-c)) + sum(4/(n*π)*c^2/s^2*sin(n*π*x)*own)
}
g = linspace(0.02, 0.98, 49)
exact = map(x -> map(y -> -log(w(x, y))/c, g), g)
off(a, b) = norm(ravel(a - b))/norm(ravel(b))

print("                       error   in the middle {-log(w(0.5, 0.5))/c:.6f}")
methods = (("fd", "41 by 41", fd(41), 1e-3), ("chebyshev", "24 by 24", chebyshev(24), 1e-4),
  ("fem", "order 2", fem(h = 1/24, order = 2), 1e-3),
  ("rfm", "400 sines", rfm(400; bandwidth = 10.0), 1e-2))
for (name, size, how, bound) in methods {
  s = solve(eikonal(), how)
  e = off(s.u(expand(g, 1), expand(g, 0)), exact)
  print("{name:-11s}{size:-10s}  {e:.1e}         {s.u(0.5, 0.5):.6f}")
  assert(e < bound, "{name}: {e}")
}

s = solve(eikonal(), fd(41))
contourf(g, g, s.u(expand(g, 1), expand(g, 0)), levels = 12,
  title = "rounded distance from the edge", xlabel = "x", ylabel = "y", aspect = 1, dpi = 100,
  file = "eikonal.png")
