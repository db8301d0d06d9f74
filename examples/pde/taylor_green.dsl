# Vortices of Taylor and Green: they decay without changing their shape. This is
# an exact solution of the Navier-Stokes equations (G. I. Taylor and A. E.
# Green, Mechanism of the production of small eddies from large ones, Proc. R.
# Soc. A 158, 1937), in which the pressure balances the advection. The box has
# one vortex; the exact solution provides the velocity at its boundary. Errors
# at t = 1, relative, in L2. fd and chebyshev do not solve for a pressure in a
# box: with one grid for all unknowns it has spurious modes. fourier does in
# periodic problems.

problem vortex(ν = 0.1) {
  domain t in [0, 1], (x, y) in box([0, π], [0, π])
  field v[2], p
  v_t + v·grad(v) == -grad(p) + ν*Δ(v)
  div(v) == 0
  v == [sin(x)*cos(y), -cos(x)*sin(y)]            at t = 0
  v == exp(-2ν*t)*[sin(x)*cos(y), -cos(x)*sin(y)] at boundary
  p == exp(-4ν*t)/2                               at (0, 0)
}

x = linspace(0.05, 3.1, 31)
(X, Y) = meshgrid(x, x; indexing = "ij")
v = exp(-0.2)*stack(sin(X)*cos(Y), -cos(X)*sin(Y); axis = 2)
p = exp(-0.4)*(cos(2X) + cos(2Y))/4
off(a, b) = norm(ravel(a - b))/norm(ravel(b))

print("                   error of v        of p")
methods = (("fem", "P2, P1", fem(h = 0.5, order = 2), 1e-2),
  ("rfm", "200 sines", rfm(200; bandwidth = 1.0), 1e-2),
  ("pinn", "20", pinn([20], 400; steps = 40, refine = 0), 1e-2))
for (name, size, how, bound) in methods {
  s = solve(vortex(), how, rtol = 1e-4)
  e = off(s.v(1, X, Y), v)
  q = s.p(1, X, Y)
  print("{name:-6s}{size:-12s} {e:.1e}     {off(q - mean(q), p - mean(p)):.1e}")
  assert(e < bound, "{name}: {e}")
}

s = solve(vortex(), rfm(200; bandwidth = 1.0))
V = s.v(1, X, Y)
overlay(heatmap(x, x, s.p(1, X, Y)),
  streamlines(x, x, V[.., .., 0], V[.., .., 1], colour = "white"),
  title = "a decaying vortex: pressure and streamlines at t = 1", xlabel = "x", ylabel = "y",
  aspect = 1, dpi = 100, file = "taylor_green.png")
