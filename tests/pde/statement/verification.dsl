# compare() and related functions: they detect faults planted in solutions and
# accept right solutions. Manufactured solutions, orders, conserved quantities.
# As users run it only: compiling all of it takes minutes.
# In a long check only: it takes half a minute.

# ---- the problems; their parameters introduce the faults
problem layer(c = 1.0, D = 0.1, r = 2.0, left = 1.0, right = 0.0, high = 1.0) {
  domain t in [0, 0.5], x in [0, 1]
  field u
  u_t + c*u_x == D*u_xx + r*u*(1 - u)
  u == high*(1 - x) at t = 0
  u == left  at x = 0
  u == right at x = 1
}
problem insulated() {
  domain t in [0, 0.5], x in [0, 1]
  field u
  u_t + u_x == 0.1*u_xx + 2*u*(1 - u)
  u == 1 - x at t = 0
  u == 1   at x = 0
  u_x == 0 at x = 1
}
problem pair(a = 3.0, b = -1.0) {
  domain t in [0, 0.2], x in [0, 1]
  field u, v
  u_t == u_xx + a*v + 3x*(1 - x)
  v_t == v_xx + b*u
  u == sin(π*x) at t = 0
  v == x*(1 - x) at t = 0
  u == 0 at x = 0, x = 1
  v == 0 at x = 0, x = 1
}
problem ring(k = 0.1, n = 1.0, ν = 0.05) {
  domain t in [0, 1], x in [0, 2π] periodic
  field u
  u_t + n*u*u_x + k*u_xxx == ν*u_xx
  u == 1 + 0.5*sin(x) at t = 0
}
problem swing(damping = 0.2, k = 1.0, start = 1.0) {
  domain t in [0, 10]
  field y
  y_tt + damping*y_t + k*sin(y) == 0
  y == start at t = 0
  y_t == 0 at t = 0
}
problem water(g = 1.0, q0 = 0.2) {
  domain t in [0, 0.3], x in [0, 1] periodic
  field h, q
  h_t + ∂x(q) == 0
  q_t + ∂x(q^2/h + g*h^2/2) == 0
  h == 1 + 0.2*sin(2π*x) at t = 0
  q == q0 at t = 0
}
problem plate(sign = 1.0, top = 0.0, k = 1.0) {
  domain x in [0, 1], y in [0, 1]
  field u
  u_xx + k*u_yy == -sign*(1 + x*y)
  u == 0   at x = 0, x = 1
  u == 0   at y = 0
  u == top at y = 1
}
tight(p, m) = solve(p, m; rtol = 1e-8, atol = 1e-10)

right = 0
passes(p, s; reference = none) = i64(compare(p, s; reference = reference).agree)
both(p, a, b) = { r = compare(p, a, b); i64(r.agree and r.worst < 1e-2) }
# ---- 20 right solutions
good = tight(layer(), fd(n = 81));
right += passes(layer(), good);
right += passes(layer(), tight(layer(), chebyshev(n = 24)));
right += both(layer(), good, tight(layer(), chebyshev(n = 24)));
right += both(layer(), good, tight(layer(), fd(n = 161, order = 2)));
right += both(layer(), good, solve(layer(), fv(n = 200)));
right += passes(insulated(), tight(insulated(), chebyshev(n = 24)));
right += passes(insulated(), tight(insulated(), fd(n = 81, order = 6)));
right += passes(pair(), tight(pair(), fd(n = 61)));
right += both(pair(), tight(pair(), fd(n = 61)), tight(pair(), chebyshev(n = 20)));
right += passes(ring(), tight(ring(), fourier(n = 48)));
right += both(ring(), tight(ring(), fourier(n = 48)), tight(ring(), fd(n = 128, order = 6)));
right += passes(swing(), tight(swing(), dop853()));
right += both(swing(), tight(swing(), bdf()), tight(swing(), tsit5()));
right += passes(swing(), tight(swing(), radau5()));
right += passes(water(), solve(water(), fv(n = 200, reconstruct = "weno5")));
right += both(water(), solve(water(), fv(n = 400, flux = "hll")), solve(water(), fv(n = 200, flux = "roe", reconstruct = "weno5z")));
right += passes(water(), tight(water(), fourier(n = 64, time = bdf())));
right += passes(plate(), tight(plate(), fd(n = 41)));
right += both(plate(), tight(plate(), fd(n = 41)), tight(plate(), chebyshev(n = 16)));
right += passes(layer(0.0, r = 0.0), tight(layer(0.0, r = 0.0), fd(n = 41)));
right                                  #> 20

# ---- 20 wrong ones: alone, or beside a right one, which is not blamed
found = 0
finds(p, s) = i64(not compare(p, s).agree)
blames(p, a, b) = { r = compare(p, a, b); i64(not r.agree and len(r.faulty) == 1 and r.faulty[0] == 1) }
found += finds(layer(), tight(layer(-1.0), fd(n = 81)));                       # a sign
found += finds(layer(), tight(layer(0.0), fd(n = 81)));                        # a missing term
found += finds(layer(), tight(layer(r = 0.0), chebyshev(n = 24)));             # another term
found += finds(layer(), tight(layer(r = -2.0), fd(n = 81)));
found += finds(layer(), tight(layer(D = 0.05), fd(n = 81)));                   # a coefficient
found += finds(layer(), tight(layer(left = 1.1), fd(n = 81)));                 # a boundary value
found += blames(layer(), good, tight(layer(right = 0.1), chebyshev(n = 24)));
found += finds(layer(), tight(layer(high = 0.8), fd(n = 81)));                 # an initial value
found += blames(layer(), good, tight(insulated(), fd(n = 81)));                # kind of condition
found += blames(layer(), good, tight(layer(), fd(n = 9, order = 2)));          # too coarse
found += blames(layer(), good, solve(layer(), fv(n = 10, reconstruct = "first")));
found += blames(plate(), tight(plate(), fd(n = 41)), tight(plate(k = 1.3), fd(n = 21)));
found += finds(pair(), tight(pair(-3.0), fd(n = 61)));                         # one equation's sign
found += finds(pair(), tight(pair(b = 0.0), fd(n = 61)));
found += blames(ring(), tight(ring(), fourier(n = 48)), tight(ring(0.0), fourier(n = 48)));
found += finds(ring(), tight(ring(n = -1.0), fourier(n = 48)));
found += blames(swing(), tight(swing(), dop853()), tight(swing(0.0), dop853()));
found += finds(swing(), tight(swing(start = 1.1), bdf()));
found += finds(water(), solve(water(1.5), fv(n = 200)));
found += finds(plate(), tight(plate(-1.0), fd(n = 41)));
found                                  #> 20
finds(plate(), tight(plate(top = 0.1), fd(n = 41)))    #> 1
finds(plate(), tight(plate(k = 2.0), fd(n = 41)))      #> 1

# The verdict on a solution names the fault.
find(compare(layer(), tight(layer(left = 1.1), fd(n = 81))).verdict, "u == left") >= 0     #> true
find(compare(layer(), tight(layer(-1.0), fd(n = 81))).verdict, "u_t + c*u_x") >= 0          #> true

# The location of the largest difference: the condition at x = 1 is wrong.
apart = compare(layer(), good, tight(layer(right = 0.1), fd(n = 81)));
apart.at[1] > 0.9                      #> true
shape(apart.at)                        #> (2,)
# against the exact solution
compare(swing(k = 0.0), tight(swing(k = 0.0), dop853()); reference = (y = t -> 1 + 0.0*t)).worst < 1e-9   #> true

# ---- manufactured solutions
# Automatic differentiation provides sources and conditions. Oracle: the
# theoretical orders of the methods.
problem burgers(ν = 0.1) {
  domain t in [0, 0.5], x in [0, 1]
  field u
  u_t + u*u_x == ν*u_xx
  u == 0 at t = 0
  u == 0 at x = 0
  u_x + u == 0 at x = 1
}
wave(t, x) = exp(-t)*sin(3x) + x
m = manufacture(burgers(); u = wave);
tight(m, chebyshev(n = 20)).u(0.4, [0.2, 0.7])         #~ wave(0.4, [0.2, 0.7]) tol 1e-7
abs(convergence(m, n -> fd(n = n + 1, order = 2), (20, 40, 80)).order - 2) < 0.15    #> true
m4 = manufacture(burgers(); u = (t, x) -> exp(-t)*sin(12x));
abs(convergence(m4, n -> fd(n = n + 1, order = 4), (80, 160, 320)).order - 4) < 0.15    #> true
# Its solution is accepted, and another one is rejected.
compare(m, tight(m, fd(n = 41))).agree                 #> true
compare(m, tight(burgers(), fd(n = 41))).agree         #> false
# a periodic one by finite volumes
problem flow() {
  domain t in [0, 0.3], x in [0, 1] periodic
  field h, q
  h_t + ∂x(q) == 0
  q_t + ∂x(q^2/h + h^2/2) == 0
  h == 1 at t = 0
  q == 0 at t = 0
}
f = manufacture(flow(); h = (t, x) -> 2 + 0.3*sin(2π*(x - t)), q = (t, x) -> 1 + 0.2*cos(2π*(x - t)));
c = convergence(f, n -> fv(n = n, limiter = "vanleer"), (40, 80, 160));
abs(c.order - 2) < 0.25                                #> true
len(c.errors)                                          #> 3
# two fields, second derivatives in two coordinates, a vector
g = manufacture(plate(); u = (x, y) -> sin(2x)*exp(y));
tight(g, fd(n = 33)).u(0.3, 0.4)                       #~ sin(0.6)*exp(0.4) tol 1e-5
abs(convergence(g, n -> fd(n = n + 1, order = 2), (10, 20, 40)).order - 2) < 0.15    #> true
problem spin() {
  domain t in [0, 1]
  field w[2]
  w_t == [-w[1], w[0]]
  w == [1.0, 0] at t = 0
}
z = manufacture(spin(); w = t -> [t^2, sin(t)]);
tight(z, dop853()).w(1.0)                              #~ [1, sin(1)] tol 1e-8
# without an exact solution: differences between grids
abs(convergence(layer(), n -> fd(n = n + 1, order = 2), (20, 40, 80)).order - 2) < 0.3   #> true

# ---- conserved quantities
s = tight(ring(0.1, 1.0, 0.05), fourier(n = 48));
conserved(s, u -> u).drift < 1e-8                      #> true
conserved(s, u -> u^2).drift > 1e-3                    #> true
w = solve(water(), fv(n = 100));
conserved(w, (h, q) -> h).drift < 1e-6                 #> true
