# Restarting from another solution: two parts equal the whole, for every method;
# on the same grid, on another one, by another method, and from a file.
# | Fixed steps (fv, etdrk4 and cnab2 with dt) agree to rounding; adaptive ones
# agree to their tolerances.
# As users run it only: compiling all of it takes long.
# In a long check only: it takes half a minute.

gap(a, b) = max(abs(a.values[-1] - b.values[-1])) / max(abs(b.values[-1]))
# the whole against two parts
two(p, m; middle, t0 = 0.0) = {
  whole = solve(p, m; rtol = 1e-8, atol = 1e-10, estimate = false)
  a = solve(p, m; t = (t0, middle), rtol = 1e-8, atol = 1e-10, estimate = false)
  b = solve(p, m; start = a, rtol = 1e-8, atol = 1e-10, estimate = false)
  (gap(b, whole), b.times[0], b.times[-1])
}

problem heat(k = 0.1) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == k*u_xx
  u == sin(π*x) at t = 0
  u == 0        at x = 0, x = 1
}
two(heat(), fd(n = 41); middle = 0.4)       #~ (0, 0.4, 1) tol 2e-7
two(heat(), fd(n = 41; time = rk4(1e-3)); middle = 0.4)[0]    #~ 0 tol 1e-12
two(heat(), chebyshev(12); middle = 0.4)[0]                   #~ 0 tol 2e-7
two(heat(), fem(h = 0.1, order = 2); middle = 0.4)[0]         #~ 0 tol 2e-7

# Second order in t: the state includes u_t.
problem string {
  domain t in [0, 1], x in [0, 1]
  field u
  u_tt == u_xx
  u == sin(π*x) at t = 0
  u_t == 0      at t = 0
  u == 0        at x = 0, x = 1
}
two(string(), fd(n = 41); middle = 0.4)[0]      #~ 0 tol 2e-7
two(string(), chebyshev(16); middle = 0.4)[0]   #~ 0 tol 2e-7
s = solve(string(), chebyshev(16); t = (0, 0.4), rtol = 1e-9, atol = 1e-11);
s.u_t(0.4, 0.5)             #~ -π*sin(0.4π) tol 1e-7
s.u_t([0.1, 0.2], 0.5)      #~ [-π*sin(0.1π), -π*sin(0.2π)] tol 1e-6
# on another grid, and beyond the end of the problem
c = solve(string(), fd(n = 101); start = s, t = (0.4, 1.5), rtol = 1e-9, atol = 1e-11);
c.u(1.5, [0.3, 0.5])        #~ [0.0, 0.0] tol 1e-5
(c.info.lo, c.info.hi)      #> ((0.4, 0.0), (1.5, 1.0))

# from the middle of a solution
d = solve(heat(), fd(n = 41); rtol = 1e-8, atol = 1e-10);
e = solve(heat(); start = d, t = (0.5, 0.6), rtol = 1e-8, atol = 1e-10);
e.u(0.6, 0.5)               #~ exp(-0.06*π^2) tol 2e-6

# Fourier modes, and an incompressible flow.
problem ks {
  domain t in [0, 5], x in [0, 32π] periodic
  field u
  u_t + u*u_x + u_xx + u_xxxx == 0
  u == cos(x/16)*(1 + sin(x/16)) at t = 0
}
two(ks(), fourier(128); middle = 2.0)[0]                           #~ 0 tol 1e-6
two(ks(), fourier(128; time = etdrk4(0.125)); middle = 2.0)[0]     #~ 0 tol 1e-11
problem taylor_green(ν = 0.05) {
  domain t in [0, 0.4], (x, y) in box([0, 2π], [0, 2π]) periodic
  field v[2], p
  v_t + v·grad(v) == -grad(p) + ν*Δ(v)
  div(v) == 0
  v == [sin(x)*cos(y), -cos(x)*sin(y)] at t = 0
}
two(taylor_green(), fourier(16; time = etdrk4(0.05)); middle = 0.2)[0]     #~ 0 tol 1e-12

# Cell averages are continued unchanged.
problem burgers() {
  domain t in [0, 0.5], x in [0, 1] periodic
  field u
  u_t + ∂x(u^2/2) == 0
  u == sin(2π*x) at t = 0
}
parts(p, m) = {
  whole = solve(p, m; saveat = linspace(0.0, 0.5, 11))
  a = solve(p, m; t = (0, 0.2), saveat = linspace(0.0, 0.2, 5))
  b = solve(p, m; start = a, saveat = linspace(0.2, 0.5, 7))
  gap(b, whole)
}
parts(burgers(), fv(n = 50; reconstruct = "first"))    #~ 0 tol 1e-13
parts(burgers(), fv(n = 50))                           #~ 0 tol 1e-13
parts(burgers(), fv(n = 50; reconstruct = "weno5"))    #~ 0 tol 1e-13
problem burgers_plane() {
  domain t in [0, 0.5], x in [0, 1] periodic, y in [0, 1] periodic
  field u
  u_t + ∂x(u^2/2) + ∂y(u) == 0
  u == sin(2π*x)*cos(2π*y) at t = 0
}
parts(burgers_plane(), fv(n = 20))                     #~ 0 tol 1e-13

# A system in two dimensions, by elements and by differences; a flow with a
# pressure between walls.
problem pair {
  domain t in [0, 0.2], x in [0, 1], y in [0, 1]
  field u, v
  u_t == 0.1*Δ(u) + v
  v_t == 0.1*Δ(v) - u
  u == sin(π*x)*sin(π*y) at t = 0
  v == 0                 at t = 0
  u == 0                 at boundary
  v == 0                 at boundary
}
two(pair(), fem(h = 0.2, order = 2); middle = 0.1)[0]    #~ 0 tol 2e-7
two(pair(), fd(n = 13); middle = 0.1)[0]                 #~ 0 tol 2e-7
problem lid {
  domain t in [0, 0.2], (x, y) in box([0, 1], [0, 1])
  field v[2], p
  v_t + v·grad(v) == -grad(p) + 0.05*Δ(v)
  div(v) == 0
  v == [0, 0]                         at t = 0
  v == [16x^2*(1 - x)^2*sin(t), 0]    at top
  v == [0, 0]                         at left, right, bottom
  p == 0                              at (0, 0)
}
two(lid(), fem(h = 0.25, order = 2); middle = 0.1)[0]    #~ 0 tol 1e-4

# t alone, of first and second order
problem lorenz {
  domain t in [0, 2]
  field x, y, z
  x_t == 10*(y - x)
  y_t == x*(28 - z) - y
  z_t == x*y - 8/3*z
  x == 1 at t = 0
  y == 1 at t = 0
  z == 1 at t = 0
}
two(lorenz(), dop853(); middle = 1.0)[0]                 #~ 0 tol 1e-6
problem pendulum {
  domain t in [0, 4]
  field θ
  θ_tt == -sin(θ)
  θ == 1 at t = 0
  θ_t == 0 at t = 0
}
two(pendulum(), auto(); middle = 1.0)[0]                 #~ 0 tol 1e-6

# from one method to another, including neural ones
a = solve(heat(), fd(n = 41); t = (0, 0.5), rtol = 1e-9, atol = 1e-11);
r = solve(heat(), rfm(), start = a);
r.u(1.0, 0.5)               #~ exp(-0.1*π^2) tol 1e-6
n = solve(heat(), pinn([10]; steps = 30), start = a);
n.u(1.0, 0.5)               #~ exp(-0.1*π^2) tol 1e-4
f = solve(heat(), fd(n = 41), start = r, t = (1, 1.5), rtol = 1e-8, atol = 1e-10);
f.u(1.5, 0.5)               #~ exp(-0.15*π^2) tol 1e-5

# from a file
save("/tmp/atled-restart.h5", a)
l = load("/tmp/atled-restart.h5");
g = solve(heat(), fd(n = 41); start = l, rtol = 1e-9, atol = 1e-11);
h = solve(heat(), fd(n = 41); start = a, rtol = 1e-9, atol = 1e-11);
gap(g, h)                   #> 0.0

# Derivatives pass through both parts: the final value with respect to the
# diffusivity, -π^2 exp(-π^2 k).
twice(k) = {
  a = solve(heat(k), fd(n = 41); t = (0, 0.5), rtol = 1e-8, atol = 1e-10)
  solve(heat(k), fd(n = 41); start = a, rtol = 1e-8, atol = 1e-10).u(1.0, 0.5)
}
jvp(twice, 0.1, 1.0)[1]     #~ -π^2*exp(-0.1*π^2) tol 1e-4

# invalid starts
said(f) = try { f(); "nothing" } catch e { e }
said(() -> solve(heat(); start = d))                  #> start: the solution ends at t = 1, and the problem at 1: say with t = (from, to) how far to go
said(() -> solve(heat(); start = a, t = (0.7, 1)))    #> start: the solution is known for t from 0 to 0.5, and does not say how things are at 0.7
