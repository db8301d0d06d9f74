# Periodic problems by Fourier transforms: exact solutions, invariants, observed
# orders.
# As users run it only: compiling all of it takes long.
# In a long check only: it takes half a minute.

# The two-soliton solution of KdV; values by the exact formula, evaluated with
# mpmath.
problem kdv {
  domain t in [0, 0.5], x in [-10, 10] periodic
  field u
  u_t + 6u*u_x + u_xxx == 0
  u == 6*sech(x)^2 at t = 0
}
exact(t, x) = 12(3 + 4cosh(2x - 8t) + cosh(4x - 64t)) / (3cosh(x - 28t) + cosh(3x - 36t))^2
k = solve(kdv, fourier(256); rtol = 1e-8, atol = 1e-10, saveat = [0.1, 0.5]);
max(abs(k.u(0.1, [0.0, 0.4, 1.0, 1.6, 2.0]) - [2.00057200807516, 1.64572698453593, 1.7171012190013, 6.0, 7.17139241597924])) <
  1e-6  #> true
# At t = 0.5 the tall soliton has passed the end of the period, 20. The pulse is
# at the same position as on the infinite line.
k.u(0.5, 8.0) #~ 6.0 tol 1e-5
k.error < 1e-6 #> true
x = -10 + 20*iota(1000)/1000.0;
w = k.u(0.5, x);
0.02*sum(w) #~ 12.0 tol 1e-8
0.02*sum(w^2) #~ 48.0 tol 1e-7
slope = map(y -> ∂(k.u, 1)(0.5, y), x);
0.02*sum(w^3 - 0.5*slope^2) #~ 211.2 tol 1e-4

# order 4 of etdrk4, order 2 of cnab2
problem steepening {
  domain t in [0, 1], x in [0, 2π] periodic
  field u
  u_t + u*u_x == 0.1*u_xx + 0.05*u_xxx
  u == sin(x) at t = 0
}
value(m) = solve(steepening, fourier(64; time = m); saveat = [1.0]).u(1.0, linspace(0, 6, 31))
best = value(etdrk4(0.001));
rate(m, h) = log2(norm(value(m(h)) - best) / norm(value(m(h/2)) - best))
abs(rate(etdrk4, 0.05) - 4) < 0.15 #> true
abs(rate(etdrk4, 0.025) - 4) < 0.15 #> true
abs(rate(cnab2, 0.025) - 2) < 0.15 #> true
norm(solve(steepening, fourier(64); rtol = 1e-8, atol = 1e-10).u(1.0, linspace(0, 6, 31)) - best) < 1e-6 #> true

# Kuramoto-Sivashinsky: CNAB2 with fixed steps stays bounded over long times.
problem kuramoto {
  domain t in [0, 200], x in [0, 32π] periodic
  field u
  u_t + u*u_x + u_xx + u_xxxx == 0
  u == cos(x/16)*(1 + sin(x/16)) at t = 0
}
# The solution is chaotic, so its phase is unpredictable, and the estimate
# reports that.
flame = solve(kuramoto, fourier(256; time = cnab2(1/16)); saveat = [100.0, 200.0], partial = true);
max(abs(flame.values)) < 5 #> true
mean(flame.values[1]) #~ 0.0 tol 1e-6

# Order 4 of etdrk4 for it, while no mode is stiff: here k⁴ h is at most 1. With
# k⁴ h > 1, errors decrease irregularly, by 5 to 13 for each halving of the step
# (M. Hochbruck and A. Ostermann, SIAM J. Numer. Anal. 43, 2005).
front(h) = solve(kuramoto, fourier(64; time = etdrk4(h)); t = (0, 5), saveat = [5.0]).u(5.0, linspace(0, 100, 51))
abs(log2(norm(front(1/16) - front(1/128)) / norm(front(1/32) - front(1/128))) - 4) < 0.15 #> true

# exponential convergence in space to rounding
problem advected {
  domain t in [0, 1], x in [0, 2π] periodic
  field u
  u_t + u_x == 0.1*u_xx
  u == exp(sin(x)) at t = 0
}
fine = solve(advected, fourier(64)).u(1.0, 0.7);
abs(solve(advected, fourier(28)).u(1.0, 0.7) - fine) < 1e-12 #> true

# A complex field as two real ones, coupled by the linear part: the soliton
# sech(x) e^{it/2} of iψ_t + ψ_xx/2 + |ψ|²ψ = 0.
problem nls {
  domain t in [0, 2], x in [-20, 20] periodic
  field u, v
  u_t == -0.5*v_xx - (u^2 + v^2)*v
  v_t == 0.5*u_xx + (u^2 + v^2)*u
  u == sech(x) at t = 0
  v == 0 at t = 0
}
s = solve(nls, fourier(256); rtol = 1e-9, atol = 1e-11);
abs(s.u(2.0, 0.0) - cos(1.0)) + abs(s.v(2.0, 0.5) - sech(0.5)*sin(1.0)) < 1e-7 #> true
# Between rows, the solution is a step of the method.
s.u(1.23, 0.3) #~ sech(0.3)*cos(1.23/2) tol 1e-7

# Navier-Stokes with a stream function, which has no rate: decaying Taylor-Green
# vortices in a uniform flow.
problem vortices(ν = 0.05) {
  domain t in [0, 1], x in [0, 2π] periodic, y in [0, 2π] periodic
  field ω, ψ
  ω_t + (ψ_y + 0.7)*ω_x - ψ_x*ω_y == ν*lap(ω)
  lap(ψ) == -ω
  ω == 2cos(x)*cos(y) at t = 0
}
n = solve(vortices(), fourier(16; dealias = true); rtol = 1e-9);
n.ω(1.0, 0.9, 0.4) #~ 2*exp(-0.1)*cos(0.2)*cos(0.4) tol 1e-8
n.ψ(0.5, 0.3, 0.1) #~ exp(-0.05)*cos(0.3 - 0.35)*cos(0.1) tol 1e-8

# Allen-Cahn with ε = 1e-4, and Cahn-Hilliard, which conserves mass, against
# finite differences.
problem allen {
  domain t in [0, 1], x in [-1, 1] periodic
  field u
  u_t == 1e-4*u_xx + 5u - 5u^3
  u == x^2*cos(π*x) at t = 0
}
a = solve(allen, fourier(512); rtol = 1e-7);
a.u(0.5, 0.3) #~ solve(allen, fd(800, 6); rtol = 1e-8, atol = 1e-10).u(0.5, 0.3) tol 2e-5
problem cahn {
  domain t in [0, 0.02], x in [0, 1] periodic, y in [0, 1] periodic
  field u
  u_t == lap(u^3 - u - 5e-3*lap(u))
  u == 0.2 + 0.1*cos(2π*x)*cos(4π*y) at t = 0
}
c = solve(cahn, fourier(32); rtol = 1e-5);
mean(c.values[-1]) #~ 0.2 tol 1e-8
# The fourth-order term inside the Laplacian of a sum is stepped exactly,
# whatever the other terms.
c.stats.steps < 200 #> true
c.error < 1e-5 #> true

# Gray-Scott: two fields, against BDF on the same grid.
problem spots(F = 0.04, k = 0.06) {
  domain t in [0, 20], x in [-1, 1] periodic, y in [-1, 1] periodic
  field u, v
  u_t == 2e-4*lap(u) - u*v^2 + F*(1 - u)
  v_t == 1e-4*lap(v) + u*v^2 - (F + k)*v
  u == 1 - 0.5*exp(-20*(sin(π*x/2)^2 + sin(π*y/2)^2)) at t = 0
  v == 0.25*exp(-20*(sin(π*x/2)^2 + sin(π*y/2)^2))    at t = 0
}
g = solve(spots(), fourier(32); rtol = 1e-7);
h = solve(spots(), fd(32, 8); rtol = 1e-6);
abs(g.u(20.0, 0.1, 0.2) - h.u(20.0, 0.1, 0.2)) < 1e-3 #> true

# a wave in three dimensions
problem mist {
  domain t in [0, 1], x in [0, 2π] periodic, y in [0, 2π] periodic, z in [0, 2π] periodic
  field u
  u_t + u_z == 0.1*lap(u)
  u == sin(x)*cos(y)*cos(z) at t = 0
}
solve(mist, fourier(8)).u(1.0, 0.4, 0.5, 0.6) #~ exp(-0.3)*sin(0.4)*cos(0.5)*cos(0.6 - 1) tol 1e-10

# A highest derivative with a variable coefficient: by BDF; exponential steppers
# refuse it.
problem porous {
  domain t in [0, 0.1], x in [0, 2π] periodic
  field u
  u_t == d(u*u_x, x)
  u == 2 + sin(x) at t = 0
}
solve(porous, fourier(32)).u(0.1, 1.0) #~ solve(porous, fd(200, 4)).u(0.1, 1.0) tol 1e-5

# Derivatives through the 1-D Fourier modes, with respect to a coefficient of
# the linear part, of odd and even order, and of the remainder.
problem damped(a, b) {
  domain t in [0, 0.5], x in [0, 2π] periodic
  field u
  u_t + a*u*u_x == 0.1*u_xx + b*u_xxx
  u == sin(x) at t = 0
}
goal(m, p) = sum(solve(damped(p[0], p[1]), fourier(16; time = m); saveat = [0.5]).values^2 * cos(iota(16)))
marched = check_grad(p -> goal(cnab2(0.05), p), [0.7, 0.05]);
max(marched.reverse_forward, marched.differences) < 1e-8 #> true
stepped = check_grad(p -> goal(etdrk4(0.05), p), [0.7, 0.05]);
max(stepped.reverse_forward, stepped.differences) < 1e-8 #> true

# Real transforms whose Fourier modes are processed eight at a time, with and
# without a remainder, against differentiation matrices.
problem steepening {
  domain t in [0, 0.5], x in [0, 2π] periodic
  field u
  u_t + u*u_x == 0.2*u_xx + 0.1*u_xxx
  u == sin(x) + 0.3cos(2x) at t = 0
}
by_matrices(n) = {
  (a, b) = (solve(steepening, fourier(n; time = etdrk4()); rtol = 1e-9, saveat = [0.5]),
    solve(steepening, fourier(n; time = dop853()); rtol = 1e-9, atol = 1e-11, saveat = [0.5]))
  max(abs(a.values[-1] - b.values[-1]))
}
max(stack(...map(by_matrices, (8, 14, 16, 18, 32, 34, 50)))) < 1e-7   #> true

# A variable speed limits steps by the shortest modes. With steps that are too
# long these grow from rounding, which sparse comparisons do not detect
# (Trefethen, Spectral Methods in MATLAB, p. 24). u is constant along
# characteristics.
problem carried(c) {
  domain t in [0, 1], x in [0, 2π] periodic
  field u
  u_t + (c + sin(x))*u_x == 0
  u == cos(x) at t = 0
}
came_from(c, x) = ode((s, y) -> -(c + sin(y)), [x], (0.0, 1.0); rtol = 1e-12, atol = 1e-12).values[-1, 0]
off_by(c, n, tol) = {
  s = solve(carried(c), fourier(n); rtol = tol, saveat = [0.5, 1.0])
  right = map(x -> cos(came_from(c, x)), s.x)
  (norm(s.values[-1] - right)/norm(right)/tol, s.error/tol)
}
for c in (1.5, -3.0, 0.25) {
  for n in (96, 128, 200) {
    for tol in (1e-4, 1e-6, 1e-9) {
      (off, said) = off_by(c, n, tol)
      assert(off < 10 and off < 3*said, "c {c}, n {n}, rtol {tol}: {off}, said {said}")
    }
  }
}
(abs(solve(carried(1.5)).u(1.0, 1.0) - cos(came_from(1.5, 1.0))) < 1e-5) #> true

# A term that is linear in one equation and not in another is treated spectrally
# in the first one only.
problem gas {
  domain t in [0, 0.2], x in [0, 1] periodic
  field r, m
  r_t + m_x == 0
  m_t + ∂x(m^2/r + r^1.4) == 0
  r == 1 + 0.1sin(2π*x) at t = 0
  m == 0 at t = 0
}
problem water {
  domain t in [0, 0.2], x in [0, 1] periodic
  field h, v
  h_t + v_x + ∂x(h*v) == 0
  v_t + v*v_x + h_x == 0.01v_xx
  h == 0.1cos(2π*x) at t = 0
  v == 0.1sin(2π*x) at t = 0
}
problem chain {
  domain t in [0, 0.5], x in [0, 2π] periodic
  field a, b, c
  a_t == b_xx - 0.5a + c
  b_t == 0.1b_xx - a*b_x + c^2
  c_t == a_x*b - c + a
  a == cos(x) at t = 0
  b == 1 + 0.2sin(x) at t = 0
  c == 0.3sin(2x) at t = 0
}
problem vectors {
  domain t in [0, 0.3], x in [0, 2π] periodic
  field v[2], p
  v_t == [v_x[1], v_x[0]*v[0]] - 0.1v
  p_t == v_x[0] + 0.05p_xx
  v == [sin(x), cos(x)] at t = 0
  p == 0 at t = 0
}
for p in (gas, water, chain, vectors) {
  (a, b) = (solve(p, fourier(48; time = etdrk4()); rtol = 1e-8, estimate = false, saveat = [0.1, 0.2]),
    solve(p, fourier(48; time = dop853()); rtol = 1e-9, atol = 1e-11, estimate = false, saveat = [0.1, 0.2]))
  assert(max(abs(a.values - b.values)) < 1e-6, "{a.info.name}: {max(abs(a.values - b.values))}")
}
solve(gas).r(0.2, 0.3)                    #~ solve(gas, fd(200)).r(0.2, 0.3) tol 1e-5

# At the time of a row, derivatives with respect to t are those close to it.
problem drift {
  domain t in [0, 0.2], x in [0, 1] periodic
  field u
  u_t + u_x == 0.1*u_xx
  u == sin(2π*x) at t = 0
}
drifted(t, x) = exp(-0.4*π^2*t)*sin(2π*(x - t))
s = solve(drift, fourier(32));
for t in [0.0, s.times[5], 0.2] {
  assert(abs(∂(s.u, 0)(t, 0.3) - ∂(drifted, 0)(t, 0.3)) < 1e-9, "u_t at {t}: {∂(s.u, 0)(t, 0.3)}")
  assert(abs(∂(∂(s.u, 0), 0)(t, 0.3) - ∂(∂(drifted, 0), 0)(t, 0.3)) < 1e-7, "u_tt at {t}: {∂(∂(s.u, 0), 0)(t, 0.3)}")
}
