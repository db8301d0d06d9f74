# The driven cavity: a lid drags the fluid in a square box, Re = 100. The lid's
# speed 16x²(1 - x)² vanishes at its ends, so the solution is smooth (the
# regularised cavity). The velocity is (ψ_y, -ψ_x) with a stream function ψ,
# which eliminates the pressure. The reference is chebyshev() with 28 by 28.
# fem() has no elements for equations of order 4.
# The errors of rfm() and pinn() are residuals of the equation, which is of
# order 4, and far exceed the error of ψ. partial = true accepts their
# solutions.

problem cavity(Re = 100) {
  domain (x, y) in box([0, 1], [0, 1])
  field ψ
  ψ_y*∂x(Δ(ψ)) - ψ_x*∂y(Δ(ψ)) == Δ(Δ(ψ))/Re
  ψ == 0   at boundary
  ψ_x == 0 at left, right
  ψ_y == 0 at bottom
  ψ_y == 16x^2*(1 - x)^2 at top
}

x = linspace(0.01, 0.99, 50)
(X, Y) = meshgrid(x, x; indexing = "ij")
best = solve(cavity(), chebyshev(28))
ψ = best.ψ(X, Y)
print("                        error   ψ(0.6, 0.75)  (least of all: {min(ψ):.6f})")
methods = (("fd", "order 2", fd(41, 2), 5e-2), ("fd", "order 4", fd(41), 1e-2),
  ("chebyshev", "16 by 16", chebyshev(16), 1e-3), ("rfm", "400 sines", rfm(400; bandwidth = 8.0),
    5e-2), ("pinn", "20, 20", pinn([20, 20], 500; steps = 25, refine = 0), 1e-1))
for (name, size, how, bound) in methods {
  s = solve(cavity(), how, partial = true)
  e = norm(ravel(s.ψ(X, Y) - ψ))/norm(ravel(ψ))
  print("{name:-11s}{size:-11s}  {e:.1e}   {s.ψ(0.6, 0.75):.6f}")
  assert(e < bound, "{name}: {e}")
}
contour(x, x, ψ, levels = [-0.08, -0.07, -0.06, -0.05, -0.04, -0.03, -0.02, -0.01, -0.003, -1e-4,
  1e-6, 3e-6], numbers = false,
  title = "driven cavity, Re = 100: stream function", xlabel = "x", ylabel = "y", aspect = 1,
  dpi = 100, file = "cavity.png")
