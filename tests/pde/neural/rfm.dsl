# Random features against closed forms: linear problems in several coordinates,
# systems, vector fields, and Newton's method.
# As users run it only: compiling all of it takes long.
# In a long check only: it takes half a minute.

r = linspace(0, 1, 33)
rel(a, b) = norm(a - b) / norm(b)

# ---- elliptic, with automatic bandwidth
problem poisson() {
  domain x in [0, 1], y in [0, 1]
  field u
  u_xx + u_yy == -2π^2*sin(π*x)*sin(π*y)
  u == 0 at x = 0, x = 1, y = 0, y = 1
}
s = solve(poisson(), rfm());
rel(s.u(expand(r, 1), r), sin(π*expand(r, 1))*sin(π*r)) < 1e-12  #> true
s.error < 1e-10  #> true
s.stats.features <= 800  #> true
s.u(0.5, 0.25)  #~ sin(π/4) tol 1e-12
# the solution is an ordinary function
grad(x -> s.u(x, 0.5))(0.25)  #~ π*cos(π/4) tol 1e-10

# The estimate follows the error, not the residual, though these differ by a
# factor of hundreds for Helmholtz' equation, where short waves make large
# residuals.
problem helmholtz() {
  domain x in [-1, 1], y in [-1, 1]
  field u
  u_xx + u_yy + u == (1 - 13π^2)*sin(2π*x)*sin(3π*y)
  u == 0 at x = -1, x = 1, y = -1, y = 1
}
off = map(k -> { s = solve(helmholtz(), rfm(seed = k)); e = rel(s.u(2expand(r, 1) - 1, 2r - 1), sin(2π*(2expand(r, 1) - 1))*sin(3π*(2r - 1))); [e, s.error/e] }, list(1, 2, 3));
max([v[0] for v in off]) < 1e-9       #> true
all([v[1] > 0.1 and v[1] < 10 for v in off])    #> true
# also with all options given
h = solve(helmholtz(), rfm(500; bandwidth = 9.0));
e = rel(h.u(2expand(r, 1) - 1, 2r - 1), sin(2π*(2expand(r, 1) - 1))*sin(3π*(2r - 1)));
h.error / e > 0.1 and h.error / e < 10    #> true

# other seeds
worst = max([rel(solve(poisson(), rfm(seed = k)).u(expand(r, 1), r), sin(π*expand(r, 1))*sin(π*r)) for k in [2, 3]]);
worst < 1e-12  #> true

# ---- wave: second order in time, given rate, two scales
problem wave() {
  domain t in [0, 1], x in [0, 1]
  field u
  u_tt == 4u_xx
  u == sin(π*x) + 0.5sin(4π*x) at t = 0
  u_t == 0 at t = 0
  u == 0 at x = 0, x = 1
}
w = solve(wave(), rfm(800; bandwidth = [24.0, 12.0]));
rel(w.u(expand(r, 1), r), sin(π*r)*cos(2π*expand(r, 1)) + 0.5sin(4π*r)*cos(8π*expand(r, 1))) < 1e-9  #> true
# The automatic bandwidths: few features resolve these waves poorly, but suffice
# to choose the spread.
off = map(k -> { w = solve(wave(), rfm(seed = k)); (rel(w.u(expand(r, 1), r), sin(π*r)*cos(2π*expand(r, 1)) + 0.5sin(4π*r)*cos(8π*expand(r, 1))), w.error) }, list(1, 2, 3));
max([v[0] for v in off]) < 1e-10   #> true
all([v[1] / v[0] > 0.05 and v[1] / v[0] < 20 for v in off])  #> true
# The residual is almost as large at a neighbouring candidate as at the best
# one. Intermediate bandwidths are tried with many more features.
problem waves44() {
  domain x in [-1, 1], y in [-1, 1]
  field u
  u_xx + u_yy + u == (1 - 32π^2)*sin(4π*x)*sin(4π*y)
  u == 0 at x = -1, x = 1, y = -1, y = 1
}
w = solve(waves44(), rfm());
rel(w.u(2expand(r, 1) - 1, 2r - 1), sin(4π*(2expand(r, 1) - 1))*sin(4π*(2r - 1))) < 1e-9  #> true
w.bandwidth[0] > 9 and w.bandwidth[0] < 17   #> true

# ---- advection: bandwidths from the balance of terms; periodic axes
# A periodic axis is exactly periodic.
problem advection() {
  domain t in [0, 1], x in [0, 2π] periodic
  field u
  u_t + 100u_x == 0
  u == sin(x) at t = 0
}
a = solve(advection(), rfm());
rel(a.u(expand(r, 1), 2π*r), sin(2π*r - 100expand(r, 1))) < 1e-9  #> true
a.u(0.5, 0.3) - a.u(0.5, 0.3 + 2π)  #~ 0 tol 1e-12
# Here the residual is smaller than the error, because advection carries errors
# over many wavelengths. At the level of rounding, the estimate is not tested.
off = map(k -> { a = solve(advection(), rfm(seed = k)); e = rel(a.u(expand(r, 1), 2π*r), sin(2π*r - 100expand(r, 1))); [e, a.error/e] }, list(1, 2, 3));
all([v[1] > 0.05 and v[1] < 20 or v[0] < 1e-12 for v in off])  #> true

# ---- one coordinate; conditions with derivatives
problem robin() {
  domain x in [0, 1]
  field u
  u_xx - 9u == 0
  u_x - u == 2 at x = 0
  u_x == 3exp(3.0) at x = 1
}
b = solve(robin(), rfm(100; bandwidth = 3.0));
rel(b.u(r), exp(3r)) < 1e-10  #> true

# ---- variable coefficients, a mixed derivative
problem mixed() {
  domain x in [0, 1], y in [0, 1]
  field u
  (1 + x)*u_xx + u_xy + u_yy == (1 + x)*exp(x)*sin(y) + exp(x)*cos(y) - exp(x)*sin(y)
  u == exp(x)*sin(y) at x = 0, x = 1, y = 0, y = 1
}
m = solve(mixed(), rfm(200; bandwidth = 2.0));
rel(m.u(expand(r, 1), r), exp(expand(r, 1))*sin(r)) < 1e-10  #> true

# ---- a system: Stokes flow with a known solution
problem stokes() {
  domain x in [0, 1], y in [0, 1]
  field u, v, p
  u_xx + u_yy - p_x == -2sin(x)*cos(y) - cos(x)
  v_xx + v_yy - p_y == 2cos(x)*sin(y)
  u_x + v_y == 0
  u == sin(x)*cos(y) at x = 0, x = 1, y = 0, y = 1
  v == -cos(x)*sin(y) at x = 0, x = 1, y = 0, y = 1
  p == sin(x) at x = 0
}
k = solve(stokes(), rfm(150; bandwidth = 2.0));
rel(k.u(expand(r, 1), r), sin(expand(r, 1))*cos(r)) < 1e-9  #> true
rel(k.p(expand(r, 1), r), sin(expand(r, 1)) + 0*r) < 1e-6  #> true

# ---- five coordinates
problem five() {
  domain v in [0, 1], w in [0, 1], x in [0, 1], y in [0, 1], z in [0, 1]
  field u
  u_vv + u_ww + u_xx + u_yy + u_zz == -π^2/4*(sin(π*v/2) + sin(π*w/2) + sin(π*x/2) + sin(π*y/2) + sin(π*z/2))
  u == sin(π*v/2) + sin(π*w/2) + sin(π*x/2) + sin(π*y/2) + sin(π*z/2) at v = 0, v = 1, w = 0, w = 1, x = 0, x = 1, y = 0, y = 1, z = 0, z = 1
}
f = solve(five(), rfm(600; bandwidth = 0.6));
f.u(0.3, 0.4, 0.5, 0.6, 0.7)  #~ sin(0.15π) + sin(0.2π) + sin(0.25π) + sin(0.3π) + sin(0.35π) tol 1e-4

# ---- nonlinear, by Newton's method
# u_xx = u^2 with u = 6/(1 + x)^2, and Burgers' equation with a smooth solution.
problem bend() {
  domain x in [0, 1]
  field u
  u_xx == u^2
  u == 6 at x = 0
  u == 1.5 at x = 1
}
n = solve(bend(), rfm(100; bandwidth = 4.0));
rel(n.u(r), 6/(1 + r)^2) < 1e-8  #> true
n.stats.steps > 1  #> true

problem front(ν = 0.2) {
  domain t in [0, 1], x in [-1, 1]
  field u
  u_t + u*u_x == ν*u_xx
  u == 0.5 - 0.5tanh(x/(4ν)) at t = 0
  u == 0.5 - 0.5tanh((-1 - 0.5t)/(4ν)) at x = -1
  u == 0.5 - 0.5tanh((1 - 0.5t)/(4ν)) at x = 1
}
q = solve(front(), rfm());
rel(q.u(expand(r, 1), 2r - 1), 0.5 - 0.5tanh((2r - 1 - 0.5expand(r, 1))/0.8))  #~ 0 tol 1e-7

# From 0, an unstable state, to fronts. With few features, the first trials
# fail.
problem fronts() {
  domain t in [0, 0.5], x in [-1, 1]
  field u
  u_t == 0.05u_xx + 5u - 5u^3
  u == 0.5cos(π*x) at t = 0
  u_x == 0 at x = -1, x = 1
}
g = solve(fronts(), rfm(400));
h = solve(fronts(), chebyshev(60), rtol = 1e-10, atol = 1e-12);
e = rel(g.u(expand(r/2, 1), 2r - 1), h.u(expand(r/2, 1), 2r - 1));
e < 1e-4                                  #> true
g.error / e > 0.05 and g.error / e < 20   #> true

# Of two solutions, the one close to the guess; a solution is accepted as a
# guess.
problem two(k = 2.0) {
  domain x in [0, 1]
  field u
  u_xx + k*exp(u) == 0
  u == 0 at x = 0, x = 1
}
top(s) = s.u(0.5)
top(solve(two(), rfm(100)))                                        #~ 0.328952421 tol 1e-8
upper = solve(two(), rfm(100), guess = (u = x -> 12x*(1 - x)));
top(upper)    #~ top(solve(two(), chebyshev(40), guess = (u = x -> 12x*(1 - x)))) tol 1e-7
top(solve(two(2.2), rfm(100), guess = upper))  #~ top(solve(two(2.2), chebyshev(40), guess = (u = x -> 12x*(1 - x)))) tol 1e-7

# ---- derivatives with respect to a parameter, through the weights
problem bend(k = 1.0) {
  domain x in [0, 1]
  field u
  u_xx == -k*exp(u)
  u == 0 at x = 0, x = 1
}
middle(how) = jacobian(p -> stack(solve(bend(p[0]), how; progress = false).u(0.5)))([1.0])[0, 0]
middle(rfm(40; bandwidth = 4.0)) #~ middle(chebyshev(20)) tol 1e-6
# reverse mode as forward mode, also where the solution is 0
problem pulled(k = 1.0, f = 1.0) {
  domain x in [0, 1]
  field u
  u_xx + k^2*u == f
  u == 0 at x = 0, x = 1
}
sag(k) = (1 - 1/cos(k/2))/k^2
by_features(k, f) = solve(pulled(k, f), rfm(60); progress = false).u(0.5)
grad(v -> by_features(v[0], v[1]))([1.0, 1.0])      #~ [sag'(1.0), sag(1.0)] tol 1e-8
grad(v -> by_features(v[0], v[1]))([1.0, 0.0])      #~ [0.0, sag(1.0)] tol 1e-8
(f -> by_features(1.0, f))'(0.0)                    #~ sag(1.0) tol 1e-8
(k -> by_features(k, 1.0))''(1.0)                   #~ sag''(1.0) tol 1e-6
(k -> solve(bend(k), rfm(60); progress = false).u(0.5))'(0.0)    #~ 1/8 tol 1e-8
