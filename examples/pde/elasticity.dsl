# A cantilever: a beam of length 4 and height 1 in plane stress. The
# displacements at the left are those of the exact solution; a shear force 1
# with a parabolic profile acts on the free end. The exact solution has degree 3
# (S. P. Timoshenko and J. N. Goodier, Theory of Elasticity, 3rd ed. 1970,
# article 21). So elements of order 3, and polynomials through a few points,
# reproduce it to rounding. Errors are relative, in L2, of the displacement.

problem beam(E = 1000, ν = 0.3, L = 4) {
  domain (x, y) in box([0, 4], [-0.5, 0.5])
  field u[2]
  ε = (grad(u) + grad(u)')/2
  σ = E/(1 - ν^2)*((1 - ν)*ε + ν*div(u)*eye(2))
  div(σ) == [0, 0]
  u == [-2y/E*(2 + ν)*(y^2 - 1/4), 6ν*L*y^2/E] at left
  σ @ normal == [0, 6*(1/4 - y^2)] at right
  σ @ normal == [0, 0]             at bottom, top
}

x = linspace(0.02, 3.98, 80)
y = linspace(-0.48, 0.48, 21)
(X, Y) = meshgrid(x, y; indexing = "ij")
u = 2/1000*stack(-Y*((24 - 3X)*X + 2.3*(Y^2 - 1/4)), 0.9Y^2*(4 - X) + 5.5X/4 + (12 - X)*X^2;
  axis = 2)
off(a, b) = norm(ravel(a - b))/norm(ravel(b))

print("                      error   deflection of the end")
methods =
  (("fem", "order 1", fem(h = 1/8), 5e-2), ("fem", "order 2", fem(h = 1/4, order = 2), 1e-3),
    ("fem", "order 3", fem(h = 1/2, order = 3), 1e-10), ("fd", "order 2", fd([65, 33], 2), 1e-2),
    ("fd", "order 4", fd([33, 17]), 1e-9), ("chebyshev", "9 by 7", chebyshev([8, 6]), 1e-9),
    ("rfm", "200 sines", rfm(200), 1e-8),
    ("pinn", "16", pinn([16], 400; steps = 100, refine = 0), 1e-2))
for (name, size, how, bound) in methods {
  s = solve(beam(), how)
  e = off(s.u(X, Y), u)
  print("{name:-11s}{size:-10s} {e:.1e}   {s.u(4, 0)[1]:.8f}")
  assert(e < bound, "{name}: {e}")
}

# The stress along the beam: compression above and tension below, largest where
# the beam is held.
s = solve(beam(), fd([33, 17]))
stress(x, y) = {
  (_, by_x) = jvp(x -> s.u(x, y), x, 1.0)
  (_, by_y) = jvp(y -> s.u(x, y), y, 1.0)
  1000/0.91*(by_x[0] + 0.3by_y[1])
}
heatmap(linspace(0, 4, 121), linspace(-0.5, 0.5, 41), stress,
  title = "a cantilever: the stress along it", xlabel = "x", ylabel = "y", zlabel = "σ_xx",
  size = (6.6, 2.6), dpi = 100, file = "elasticity.png")
