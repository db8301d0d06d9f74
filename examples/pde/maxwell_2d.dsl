# Maxwell's equations in the plane: a standing wave in a square resonator with
# mirrors as boundaries. The field across the plane is E = sin(2πx) sin(πy)
# cos(ωt) with ω = √5 π, by separation of variables. Errors are relative, in L2,
# of E at t = 0.7.

problem resonator {
  domain t in [0, 0.7], (x, y) in box([0, 1], [0, 1])
  field E, B, C
  E_t == C_x - B_y
  B_t == -E_y
  C_t == E_x
  E == sin(2π*x)*sin(π*y) at t = 0
  B == 0 at t = 0
  C == 0 at t = 0
  E == 0 at boundary
}

x = linspace(0.01, 0.99, 41)
(X, Y) = meshgrid(x, x; indexing = "ij")
exact = sin(2π*X)*sin(π*Y)*cos(0.7*sqrt(5)*π)
off(a, b) = norm(ravel(a - b))/norm(ravel(b))

print("                        error")
methods = (("fd", "41 by 41", fd(41), 1e-2), ("chebyshev", "12 by 12", chebyshev(12), 1e-4),
  ("fem", "order 2", fem(h = 1/12, order = 2), 2e-2), ("fv", "80 by 80", fv(n = 80), 3e-2),
  ("rfm", "500 sines", rfm(500; bandwidth = [6.0, 6.0, 4.0]), 1e-2))
for (name, size, how, bound) in methods {
  s = solve(resonator, how)
  e = off(s.E(0.7, X, Y), exact)
  print("{name:-11s}{size:-11s}  {e:.1e}")
  assert(e < bound, "{name}: {e}")
}

s = solve(resonator, chebyshev(12))
heatmap(x, x, s.E(0.7, X, Y), title = "a resonator: E at t = 0.7", xlabel = "x", ylabel = "y",
  aspect = 1, dpi = 100, file = "maxwell_2d.png")
