# Poisson's equation in a cube: the charge 3π² sin(πx) sin(πy) sin(πz) between
# earthed walls has the potential u = sin(πx) sin(πy) sin(πz). In three
# dimensions points are expensive: a grid of eleven along each edge has more
# than a thousand. So the accuracy with few points decides between methods.

problem charge {
  domain x in [0, 1], y in [0, 1], z in [0, 1]
  field u
  -Δ(u) == 3π^2*sin(π*x)*sin(π*y)*sin(π*z)
  u == 0 at boundary
}

exact(x, y, z) = sin(π*x)*sin(π*y)*sin(π*z)
seed(1)
(x, y, z) = (rand(500), rand(500), rand(500))
print("method                relative L2 error at 500 points")
for (kind, how, bound) in (("order 2", fd(n = 17, order = 2), 1e-2),
  ("order 4", fd(n = 17, order = 4), 1e-3), ("", chebyshev(n = 12), 1e-7),
  ("tetrahedra", fem(h = 1/5, order = 2), 1e-2),
  ("boxes", fem(h = 1/5, order = 2, cells = "boxes"), 1e-2), ("", rfm(400), 1e-4),
  ("", pinn([16], 500; steps = 40), 1e-3)) {
  s = solve(charge, how; progress = false)
  error = norm(s.u(x, y, z) - exact(x, y, z))/norm(exact(x, y, z))
  print("{s.method:-10s}{kind:-11s} {error:.1e}")
  assert(error < bound)
}

plane = linspace(0, 1, 51)
s = solve(charge, chebyshev(n = 12))
contourf(plane, plane, s.u(expand(plane, 1), expand(plane, 0), 0.25),
  title = "the potential at z = 1/4", xlabel = "x", ylabel = "y", aspect = 1,
  file = "poisson3d.png")
