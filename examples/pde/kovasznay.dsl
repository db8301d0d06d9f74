# Kovasznay's flow: the wake behind a grid, one of the few exact solutions of
# the steady Navier-Stokes equations in which all terms act (L. I. G. Kovasznay,
# Laminar flow behind a two-dimensional grid, Proc. Camb. Phil. Soc. 44, 1948).
# At Re = 20 the wake has a pair of eddies in each period. Errors are relative,
# in L2, of the velocity and of the pressure about its mean. fd and chebyshev do
# not solve for a pressure in a box: with one grid for all unknowns it has
# spurious modes.

problem kovasznay(Re = 20) {
  domain (x, y) in box([-0.5, 1], [-0.5, 1.5])
  field v[2], p
  λ = Re/2 - sqrt(Re^2/4 + 4π^2)
  v·grad(v) == -grad(p) + Δ(v)/Re
  div(v) == 0
  v == [1 - exp(λ*x)*cos(2π*y), λ/(2π)*exp(λ*x)*sin(2π*y)] at boundary
  p == 0 at (-0.5, -0.5)
}

x = linspace(-0.45, 0.95, 57)
y = linspace(-0.45, 1.45, 77)
(X, Y) = meshgrid(x, y; indexing = "ij")
λ = 10 - sqrt(100 + 4π^2)
v = stack(1 - exp(λ*X)*cos(2π*Y), λ/(2π)*exp(λ*X)*sin(2π*Y); axis = 2)
p = -exp(2λ*X)/2
off(a, b) = norm(ravel(a - b))/norm(ravel(b))
about(p) = p - mean(p)

print("                 error of v        of p")
methods = (("fem", "P2, P1", fem(h = 1/10, order = 2), 2e-3),
  ("fem", "P3, P2", fem(h = 1/6, order = 3), 5e-4), ("rfm", "300 sines", rfm(300; bandwidth = 4.0),
    3e-4), ("pinn", "20, 20", pinn([20, 20], 500; steps = 30, refine = 0), 3e-4))
for (name, size, how, bound) in methods {
  s = solve(kovasznay(), how)
  e = off(s.v(X, Y), v)
  print("{name:-6s}{size:-10s} {e:.1e}     {off(about(s.p(X, Y)), about(p)):.1e}")
  assert(e < bound, "{name}: {e}")
}

s = solve(kovasznay(), fem(h = 1/10, order = 2))
overlay(heatmap(x, y, s.v(X, Y)[.., .., 0]),
  streamlines(x, y, s.v(X, Y)[.., .., 0], s.v(X, Y)[.., .., 1]),
  title = "Kovasznay's flow, Re = 20", xlabel = "x", ylabel = "y", dpi = 100,
  file = "kovasznay.png")
