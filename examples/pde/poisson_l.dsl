# Poisson's equation on an L: at the re-entrant corner the derivatives are
# infinite. u = r^(2/3) sin(2θ/3), with θ from one of the edges that meet there,
# solves Δu = 0 exactly. On cells of one size, elements of order 3 are hardly
# more accurate than those of order 1. Refinement where the solution's indicator
# is large needs few cells. For regions that are not boxes there is one method,
# fem().

region = polygon([0, 0; 1, 0; 1, 1; -1, 1; -1, -1; 0, -1])
f(x, y) = { θ = mod(atan2(y, x), 2π); (x^2 + y^2)^(1/3)*sin(2θ/3) }
problem corner {
  domain (x, y) in region
  field u
  Δ(u) == 0
  u == f(x, y) at boundary
}

seed(1)
points = sample(region, 1000)
(x, y) = (points[.., 0], points[.., 1])
error(s) = norm(s.u(x, y) - f(x, y))/norm(f(x, y))
print("method  order  mesh             unknowns  relative L2 error")
for (order, h) in ((1, 0.2), (1, 0.1), (2, 0.1), (3, 0.1)) {
  s = solve(corner, fem(h = h, order = order))
  print("{s.method:-8s}{order}     cells of {h}    {len(s.values):8d}  {error(s):.1e}")
  assert(error(s) < 2e-2)
}

(m, s) = (mesh(region, 0.3), solve(corner, fem(h = 0.3, order = 3)))
for k in 0..16 {
  s = solve(corner, fem(mesh = m, order = 3))
  e = s.indicator()
  m = refine(m; marked = e > 0.2*max(e))
}
print("{s.method:-8s}3     refined 16 times{len(s.values):7d}  {error(s):.1e}")
assert(error(s) < 2e-4)
plot(s.mesh, title = "where cells are needed", xlabel = "x", ylabel = "y", file = "poisson_l.png")
