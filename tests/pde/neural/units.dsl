# The same problems in scaled units and in SI units: networks give errors of the
# same size. Oracle: exact solutions.
# As users run it only: compiling all of it takes long.

rel(a, b) = norm(a - b) / norm(b)
x = linspace(0, 1, 21)
# The second error is at most three times the first, which must be small itself.
alike(first, second; most) = { assert(first < most and second < 3*first, "{first} {second}"); true }

# 5 cm of steel, 300 to 900 K, within 100 s
problem heat(D = 0.4, L = 1.0, T = 1.0, a = 1/3, b = 2/3) {
  domain t in [0, T], x in [0, L]
  field u
  u_t == D*u_xx
  u == a + b*sin(π*x/L) at t = 0
  u == a                at x = 0, x = L
}
warmth = 1/3 + 2/3*exp(-0.4*π^2)*sin(π*x)
m = pinn([16], 300; steps = 30)
s = solve(heat(), m);
h = solve(heat(1e-5, 0.05, 100.0, 300.0, 600.0), m);
alike(rel(s.u(1.0, x), warmth), rel(h.u(100.0, 0.05*x), 900*warmth); most = 1e-4)                          #> true
# Its derivative, error and domain are in the problem's units; explain() reports
# the network's.
slope(x) = h.u(50.0, x)
slope'(0.0) / (600*exp(-0.2*π^2)*π/0.05)                                                                    #~ 1 tol 2e-3
h.error < 3*s.error                                                                                         #> true
h.info.hi                                                                                                   #> (100.0, 0.05)
contains(explain(h), "unit of t 100, unit of x 5.0e-02")                                                    #> true
contains(explain(s), "unit")                                                                                #> false
# conditions as penalty rows
m = pinn([16], 300; steps = 30, hard = false)
alike(rel(solve(heat(), m).u(1.0, x), warmth), rel(solve(heat(1e-5, 0.05, 100.0, 300.0, 600.0), m).u(100.0, 0.05*x), 900*warmth);
  most = 3e-3)                                                                                              #> true
# The second half of the time, starting from another solution in the problem's
# units.
g = solve(heat(1e-5, 0.05, 100.0, 300.0, 600.0), pinn([12], 150; steps = 15, corners = false); start = h, t = (50, 100));
rel(g.u(100.0, 0.05*x), 900*warmth) < 5e-4                                                                  #> true
# almost uniform temperature: fields are measured relative to it
w = solve(heat(1e-5, 0.05, 100.0, 300.0, 0.5), pinn([16], 300; steps = 30));
rel(w.u(50.0, 0.05*x) - 300, 0.5*exp(-0.2*π^2)*sin(π*x)) < 1e-3                                             #> true

# a string of 65 cm with c = 200 m/s, plucked by 2 mm
problem wave(c = 1.0, L = 1.0, T = 1.0, U = 1.0) {
  domain t in [0, T], x in [0, L]
  field u
  u_tt == c^2*u_xx
  u == U*sin(π*x/L) at t = 0
  u_t == 0          at t = 0
  u == 0            at x = 0, x = L
}
off = (s, L, T, U) -> rel(s.u(0.8*T, x*L), U*cos(0.8*π)*sin(π*x))
m = pinn([20], 400; steps = 40)
alike(off(solve(wave(), m), 1.0, 1.0, 1.0), off(solve(wave(200.0, 0.65, 0.00325, 2e-3), m), 0.65, 0.00325, 2e-3); most = 1e-4)     #> true

# Advection around 40,000 km in days, periodic, in time windows; parameters
# known only at run time.
problem ring(c = 0.6, L = 1.0, T = 1.0, U = 1.0) {
  domain t in [0, T], x in [0, L] periodic
  field u
  u_t + c*u_x == 0
  u == U*sin(2π*x/L) at t = 0
}
round(c, L, T, U; by) = rel(solve(ring(c, L, T, U), by).u(T, x*L), U*sin(2π*(x - 0.6)))
m = pinn([16], 300; steps = 30, slabs = 2)
alike(round(0.6, 1.0, 1.0, 1.0; by = m), round(0.08, 4e4, 3e5, 5e3; by = m); most = 2e-3)                  #> true

# Poisson's equation over a thousand kilometres: the scale of the field follows
# from the source alone.
problem poisson(L = 1.0, f = 2π^2) {
  domain x in [0, L], y in [0, L]
  field u
  -u_xx - u_yy == f*sin(π*x/L)*sin(π*y/L)
  u == 0 at boundary
}
bump = sin(π*x)*sin(0.4π)
m = pinn([16], 100; steps = 20)
alike(rel(solve(poisson(), m).u(x, 0.4 + 0*x), bump), rel(solve(poisson(1e6, 2e-7*π^2), m).u(1e6*x, 0.4e6 + 0*x), 1e5*bump); most = 1e-6)     #> true

# A steel wall of 10 cm with a heat flux of 100 kW/m² in and convection to 300 K
# out. No condition prescribes the temperature.
problem wall(k = 1.0, L = 1.0, a = 1/3, q = 1.0, h = 2.0) {
  domain x in [0, L], y in [0, L]
  field T
  k*Δ(T) == 0
  -k*T_x == q         at x = 0
  -k*T_x == h*(T - a) at x = L
  T_y == 0            at y = 0, y = L
}
m = pinn([16], 300; steps = 30)
above = (s, k, L, a, q, h) -> rel(s.T(L*x, 0.3*L + 0*x) - a, q/h + q*L/k*(1 - x))
alike(above(solve(wall(), m), 1.0, 1.0, 1/3, 1.0, 2.0), above(solve(wall(50.0, 0.1, 300.0, 1e5, 1000.0), m), 50.0, 0.1, 300.0, 1e5, 1000.0);
  most = 1e-5)                                                                                              #> true

# A nonlinear problem over a millimetre, also with a guess in its own units.
problem bent(L = 1.0, U = 1.0) {
  domain x in [0, L]
  field u
  u_xx == u^2/(U*L^2) + U/L^2*sin(3x/L)
  u == U     at x = 0
  u == 0.5*U at x = L
}
exact = solve(bent(), collocation(8); rtol = 1e-9, atol = 1e-11).u(x)
first = rel(solve(bent(), m).u(x), exact)
alike(first, rel(solve(bent(1e-3, 1e5), m).u(1e-3*x), 1e5*exact); most = 1e-6)                              #> true
alike(first, rel(solve(bent(1e-3, 1e5), m; guess = (u = x -> 1e5*(1 - 0.5*x/1e-3))).u(1e-3*x), 1e5*exact); most = 1e-6)    #> true

# Decay of a into b within nanoseconds; the scale of b follows from that of a.
problem chain(k = 1.0, a0 = 1.0) {
  domain t in [0, 2/k]
  field a, b
  a_t == -k*a
  b_t == k*a - 0.5*k*b
  a == a0 at t = 0
  b == 0  at t = 0
}
m = pinn([12], 100; steps = 40)
c = solve(chain(1e9, 1e8), m);
c.a(2e-9)/1e8                                                                                               #~ exp(-2) tol 1e-6
c.b(2e-9)/1e8                                                                                               #~ 2*(exp(-1) - exp(-2)) tol 1e-6
