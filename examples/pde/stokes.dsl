# Slow flow, where viscous forces and pressure balance: two streams collide.
# This is an exact solution of Stokes' equations with a velocity of degree 4 and
# a pressure of degree 3 (H. C. Elman, D. J. Silvester and A. J. Wathen, Finite
# Elements and Fast Iterative Solvers, 2nd ed. 2014, example 3.1.4). Errors are
# relative, in L2, of the velocity and of the pressure about its mean. fd and
# chebyshev do not solve for a pressure in a box: with one grid for all unknowns
# it has spurious modes.

problem stokes {
  domain (x, y) in box([-1, 1], [-1, 1])
  field v[2], p
  Δ(v) == grad(p)
  div(v) == 0
  v == [20x*y^3, 5x^4 - 5y^4] at boundary
  p == 0 at (0, 0)
}

x = linspace(-0.98, 0.98, 61)
(X, Y) = meshgrid(x, x; indexing = "ij")
v = stack(20X*Y^3, 5X^4 - 5Y^4; axis = 2)
p = 60X^2*Y - 20Y^3
off(a, b) = norm(ravel(a - b))/norm(ravel(b))

print("                 error of v        of p")
methods = (("fem", "P2, P1", fem(h = 1/8, order = 2), 1e-3),
  ("fem", "P3, P2", fem(h = 1/8, order = 3), 5e-5),
  ("fem", "Q2, Q1", fem(h = 1/8, order = 2, cells = "boxes"), 1e-3),
  ("fem", "Q3, Q2", fem(h = 1/8, order = 3, cells = "boxes"), 5e-5), ("rfm", "400 sines",
    rfm(400; bandwidth = 2.0), 1e-9), ("pinn", "16", pinn([16], 400; steps = 60, refine = 0), 1e-3))
for (name, size, how, bound) in methods {
  s = solve(stokes, how)
  e = off(s.v(X, Y), v)
  q = s.p(X, Y)
  print("{name:-6s}{size:-10s} {e:.1e}     {off(q - mean(q), p):.1e}")
  assert(e < bound, "{name}: {e}")
}

s = solve(stokes, fem(h = 1/8, order = 2))
overlay(heatmap(x, x, s.p(X, Y)), streamlines(x, x, s.v(X, Y)[.., .., 0], s.v(X, Y)[.., .., 1]),
  title = "colliding streams: pressure and streamlines", xlabel = "x", ylabel = "y", aspect = 1,
  dpi = 100, file = "stokes.png")
