# Partial differential equations by every method, against exact solutions and
# theoretical orders of convergence.

problem heat(D = 0.1) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == D*u_xx
  u == sin(π*x) at t = 0
  u == 0        at x = 0, x = 1
}
exact(t, x) = exp(-0.1*π^2*t)*sin(π*x)
xs = linspace(0, 1, 101)
err(m) = norm(solve(heat(), m, rtol = 1e-12, atol = 1e-15).u(1.0, xs) - exact(1.0, xs)) / 10

# Observed orders with a shorter wavelength, on grids where the error in space
# is far above the one in time (about 2e-10).
problem ripple {
  domain t in [0, 0.5], x in [0, 1]
  field u
  u_t == 0.005*u_xx
  u == sin(8π*x) at t = 0
  u == 0         at x = 0, x = 1
}
ripple_err(m) = norm(solve(ripple, m, rtol = 1e-12, atol = 1e-15).u(0.5, xs) - exp(-0.005*(8π)^2*0.5)*sin(8π*xs))
order(p, n) = log2(ripple_err(fd(n = n, order = p)) / ripple_err(fd(n = 2n - 1, order = p)))
abs(order(2, 65) - 2) < 0.15  #> true
abs(order(4, 129) - 4) < 0.15  #> true
abs(order(6, 65) - 6) < 0.15  #> true
err(fd(n = 33, order = 6)) < 1e-8  #> true
err(chebyshev(n = 16)) < 1e-9  #> true

# Neumann conditions
problem rod {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == 0.1*u_xx
  u == cos(π*x) at t = 0
  u_x == 0      at x = 0, x = 1
}
f = solve(rod, fd(n = 41, order = 4), rtol = 1e-9, atol = 1e-11);
f.u(0.5, 0.25)  #~ 0.4316872935664414 tol 2e-6
c = solve(rod, chebyshev(n = 18), rtol = 1e-9, atol = 1e-11);
c.u(0.5, 0.25)  #~ 0.4316872935664414 tol 1e-7

# A Robin condition: u_x + u = 0 at x = 1 and u = 0 at x = 0. The solution is u
# = exp(-λ²Dt) sin(λx) with tan λ = -λ.
problem robin {
  domain t in [0, 1], x in [0, 1]
  field u
  λ = 2.028757838110434
  u_t == 0.1*u_xx
  u == sin(λ*x) at t = 0
  u == 0        at x = 0
  u_x + u == 0  at x = 1
}
solve(robin, chebyshev(n = 18), rtol = 1e-9, atol = 1e-11).u(1.0, 0.7)  #~ 0.6550922978 tol 1e-6
solve(robin, fd(n = 81, order = 4), rtol = 1e-9, atol = 1e-11).u(1.0, 0.7)  #~ 0.6550922978 tol 1e-6

# periodic: advection and diffusion, all periodic methods
problem ring {
  domain t in [0, 1], x in [0, 2π] periodic
  field u
  u_t + u_x == 0.1*u_xx
  u == sin(x) at t = 0
}
solve(ring, fourier(n = 16), rtol = 1e-10, atol = 1e-12).u(1.0, 0.3)  #~ -0.5829122688 tol 1e-8
solve(ring, fd(n = 64, order = 6), rtol = 1e-10, atol = 1e-12).u(1.0, 0.3)  #~ -0.5829122688 tol 1e-6

# The two-soliton solution of KdV: u = 6 sech² keeps its invariants 12 and 48.
problem kdv {
  domain t in [0, 0.1], x in [-10, 10] periodic
  field u
  u_t + 6u*u_x + u_xxx == 0
  u == 6*sech(x)^2 at t = 0
}
k = solve(kdv, fourier(n = 128), rtol = 1e-8, atol = 1e-10);
x = -10 + 20*iota(2000)/2000.0;
mass = 0.01*sum(k.u(0.1, x));
mass  #~ 12.0 tol 1e-6
0.01*sum(k.u(0.1, x)^2)  #~ 48.0 tol 1e-4
# exact: u = 12 (3 + 4 cosh(2x - 8t) + cosh(4x - 64t)) / (3 cosh(x - 28t) +
# cosh(3x - 36t))²
k.u(0.1, 0.5)  #~ 1.5473397 tol 1e-4

# Two coupled fields: u_t = u_xx + v, v_t = v_xx - u, u = e^{-π²t} sin(πx) cos
# t, v = -e^{-π²t} sin(πx) sin t.
problem pair {
  domain t in [0, 0.2], x in [0, 1]
  field u, v
  u_t == u_xx + v
  v_t == v_xx - u
  u == sin(π*x) at t = 0
  v == 0        at t = 0
  u == 0        at x = 0, x = 1
  v == 0        at x = 0, x = 1
}
q = solve(pair, fd(n = 41, order = 4), rtol = 1e-9, atol = 1e-12);
q.u(0.2, 0.5)  #~ 0.1361421589 tol 1e-5
q.v(0.2, 0.5)  #~ -0.02759738186 tol 1e-5
w = solve(pair, chebyshev(n = 16), rtol = 1e-9, atol = 1e-12);
w.v(0.2, 0.5)  #~ -0.02759738186 tol 1e-7

# derivatives of a solution with respect to x and t
g = solve(heat(), chebyshev(n = 16), rtol = 1e-10, atol = 1e-12);
∂(g.u, 1)(0.5, 0.3)  #~ 1.127334561 tol 1e-6
∂(g.u, 0)(0.5, 0.5)  #~ -0.6025373997 tol 1e-5

# Methods agree, which compare() reports.
r = compare(solve(heat(), fd(n = 41)), g, tol = 1e-4);
r.agree  #> true
