# Finite volumes with short steps, nonconvex fluxes, closed ends, and states
# that must stay positive. Oracle: closed forms.
# In a long check only: it takes half a minute.

# ---- sources and diffusion limit the step size
problem decay(k) {
  domain t in [0, 4], x in [0, 1]
  field u
  u_t == u_xx - k*u
  u == 1 at t = 0
  u_x == 0 at x = 0
  u == 1 at x = 1
}
# at steady state: cosh(sqrt(k)*x)/cosh(sqrt(k))
solve(decay(100.0), fv(n = 20)).u(4.0, 0.5)      #~ cosh(5)/cosh(10) tol 5e-4
solve(decay(25.0), fv(n = 40)).u(4.0, 0.3)       #~ cosh(1.5)/cosh(5) tol 5e-5
problem relaxed(k) {
  domain t in [0, 1], x in [0, 1] periodic
  field u
  u_t + u_x == -k*(u - sin(2π*(x - t)))
  u == sin(2π*x) at t = 0
}
for k in (1.0, 300.0, 3000.0) {
  v = solve(relaxed(k), fv(n = 50)).u(1.0, 0.25)
  assert(abs(v - 1) < (if k < 10 { 0.05 } else { 0.02 }), "relaxation by {k}: {v}")
}
# Two fields that rotate: (cos, sin) of 20t everywhere.
problem turning {
  domain t in [0, 1], x in [0, 1] periodic
  field u, v
  u_t + u_x == -20v
  v_t + v_x == 20u
  u == 1 at t = 0
  v == 0 at t = 0
}
solve(turning, fv(n = 10, reconstruct = "weno5")).u(1.0, 0.5)   #~ cos(20) tol 1e-2
# A large source that one field receives from another changes no wave speed, so
# few steps suffice.
problem slope(g) {
  domain t in [0, 1], x in [0, 1] periodic
  field a, b
  a_t + a_x == 0
  b_t + b_x == g*a
  a == 1 at t = 0
  b == 0 at t = 0
}
few = solve(slope(1e6), fv(n = 20));
few.b(1.0, 0.5)                        #~ 1e6 tol 1e-3
few.stats.steps < 100                  #> true

# ---- coefficients that are unbounded at the axis
# Diffusion in a ball and in a cylinder, in two spellings.
problem ball {
  domain t in [0, 0.1], r in [0, 1]
  field u
  u_t == u_rr + 2/r*u_r
  u == sin(π*r)/(π*r) at t = 0
  u_r == 0 at r = 0
  u == 0 at r = 1
}
problem ball_flux {
  domain t in [0, 0.1], r in [0, 1]
  field u
  u_t == 1/r^2*∂r(r^2*∂r(u))
  u == sin(π*r)/(π*r) at t = 0
  u_r == 0 at r = 0
  u == 0 at r = 1
}
solve(ball, fv(n = 40)).u(0.1, [0.1, 0.5])        #~ exp(-0.1π^2)*[sin(0.1π)/(0.1π), 2/π] tol 1e-3
solve(ball_flux, fv(n = 40)).u(0.1, [0.1, 0.5])   #~ exp(-0.1π^2)*[sin(0.1π)/(0.1π), 2/π] tol 1e-3
# J0(2.404825557695773*r)*exp(-2.404825557695773^2*t)
problem cylinder {
  domain t in [0, 0.1], r in [0, 1]
  field u
  u_t == u_rr + u_r/r
  u == besselj(0, 2.404825557695773*r) at t = 0
  u_r == 0 at r = 0
  u == 0 at r = 1
}
solve(cylinder, fv(n = 40)).u(0.1, 0.5)   #~ exp(-0.1*2.404825557695773^2)*besselj(0, 1.2024127788478865) tol 1e-3
# Advection with a speed that depends on x only: one period takes ∫ dx/a =
# 1/sqrt(1.25).
problem carried {
  domain t in [0, 1/sqrt(1.25)], x in [0, 1] periodic
  field u
  u_t + (1.5 + cos(2π*x))*u_x == 0
  u == sin(2π*x) at t = 0
}
around(n) = {
  e = linspace(0, 1, n + 1)
  s = solve(carried, fv(n = n, reconstruct = "weno5"), saveat = [1/sqrt(1.25)])
  mean(abs(s.values[-1, 0] - n*(cos(2π*e[..-1]) - cos(2π*e[1..]))/(2π)))
}
around(200) < 2e-4                     #> true
log2(around(100)/around(200)) > 2.5    #> true

# ---- one unknown, any flux: a fractional flow
# Its speed is 0 on both sides of the front.
f(u) = u^2/(u^2 + 0.5*(1 - u)^2)
problem flood {
  domain t in [0, 0.4], x in [-0.2, 1]
  field u
  u_t + ∂x(f(u)) == 0
  u == if x < 0 { 1 } else { 0 } at t = 0
  u == 1 at x = -0.2
}
# x/t is f'(u) after the front, which moves at f(u)/u where that equals f'(u).
u_front = root(u -> f'(u)*u - f(u), (0.4, 0.9))
exact(x) = if x <= 0 { 1.0 } else if x < 0.4*f'(u_front) { root(u -> f'(u) - x/0.4, (u_front, 1.0)) } else { 0.0 }
for flux in ("rusanov", "hll", "roe", "godunov") {
  s = solve(flood, fv(n = 240, flux = flux), saveat = [0.4])
  off = mean(abs(s.values[-1, 0] - map(exact, s.x)))
  assert(off < 5e-3, "fractional flow by {flux}: {off}")
  # the inflow is f(1)
  assert(abs(sum(s.values[-1, 0])/200 - 0.6) < 1e-12, "what came in by {flux}")
}
# An inflection at 0: for u^3 from 1 to -1, a front to u = -1/2 at speed 3/4,
# followed by a fan u = -sqrt(x/(3t)).
problem bent(a, b) {
  domain t in [0, 0.5], x in [-1, 2]
  field u
  u_t + ∂x(u^3) == 0
  u == if x < 0 { a } else { b } at t = 0
  u_x == 0 at x = -1, x = 2
}
for flux in ("rusanov", "hll", "roe", "godunov") {
  s = solve(bent(1.0, -1.0), fv(n = 300, flux = flux), saveat = [0.5])
  x = s.x
  right = map(x -> if x < 0.375 { 1.0 } else if x < 1.5 { -sqrt(x/1.5) } else { -1.0 }, x)
  assert(mean(abs(s.values[-1, 0] - right)) < 1e-2, "u^3 by {flux}: {mean(abs(s.values[-1, 0] - right))}")
}
# A jump that opens to a fan: every flux must open it.
problem fan(a, b) {
  domain t in [0, 0.5], x in [-1, 1]
  field u
  u_t + ∂x(u^2/2) == 0
  u == if x < 0 { a } else { b } at t = 0
  u_x == 0 at x = -1, x = 1
}
for flux in ("rusanov", "hll", "roe", "godunov") {
  for how in ("first", "muscl", "weno5") {
    v = solve(fan(-1.0, 1.0), fv(n = 200, flux = flux, reconstruct = how)).u(0.5, [-0.25, 0.25])
    assert(max(abs(v - [-0.5, 0.5])) < 0.03, "a fan by {flux}, {how}: {v}")
  }
}
# A system: the fan of a dam break passes through critical flow at x = 0, where
# h = 4/9, and must not have a step there.
problem critical {
  domain t in [0, 0.05], x in [-1, 1]
  field h, q
  h_t + ∂x(q) == 0
  q_t + ∂x(q^2/h + 9.81*h^2/2) == 0
  h == if x < 0 { 1 } else { 0.05 } at t = 0
  q == 0 at t = 0
}
for how in ("first", "muscl") {
  c = solve(critical, fv(n = 400, flux = "roe", reconstruct = how), saveat = [0.05])
  h = c.values[-1, 0]
  # along the fan, h decreases by 2/3*sqrt(h/g)/t per unit length, 0.0213 a cell
  assert(max(abs(h[1..] - h[..-1])[196..204]) < 0.026, "a step in the fan, {how}: {max(abs(h[1..] - h[..-1])[196..204])}")
  assert(abs(c.h(0.05, 0.0) - 4/9) < 1e-2, "critical depth, {how}: {c.h(0.05, 0.0)}")
}

# ---- conditions on the flux hold to rounding: nothing leaves
problem settling {
  domain t in [0, 8], x in [0, 4]
  field p
  p_t == ∂x(p_x + p)
  p == 0.25 at t = 0
  p_x + p == 0 at boundary
}
problem settling_apart {
  domain t in [0, 8], x in [0, 4]
  field p
  p_t == p_xx + p_x
  p == 0.25 at t = 0
  p_x + p == 0 at boundary
}
for p in (settling, settling_apart) {
  s = solve(p, fv(n = 50))
  assert(max(abs(sum(s.values[.., 0]; axis = 1)*4/50 - 1)) < 1e-12)
  # at steady state exp(-x)/(1 - exp(-4))
  assert(abs(s.p(8.0, 1.0) - exp(-1)/(1 - exp(-4))) < 2e-3)
}
# a flux that is nonlinear in the field: the total is conserved
problem shut {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t + ∂x(u^2/2 - 0.5*u_x) == 0
  u == 0.2 + 0.1*x at t = 0
  u^2/2 - 0.5*u_x == 0 at boundary
}
s = solve(shut, fv(n = 40));
max(abs(sum(s.values[.., 0]; axis = 1)/40 - 0.25)) < 1e-12   #> true
# At steady state u_x = u^2 and u = 1/(c - x), whose integral is log(c/(c - 1)).
s.u(1.0, 0.5)                          #~ 1/(1/(1 - exp(-0.25)) - 0.5) tol 1e-3
# the inflow accumulates: 2 in each unit of time
problem fed {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t + ∂x(u - 0.2*u_x) == 0
  u == 0 at t = 0
  u - 0.2*u_x == 2 at x = 0
  u - 0.2*u_x == 0 at x = 1
}
s = solve(fed, fv(n = 40));
sum(s.values[-1, 0])/40                #~ 2 tol 1e-12

# ---- positive states stay positive, and the total is conserved
# A beach that dries, a lake on its slope.
g = 9.81
problem beach {
  domain t in [0, 1], x in [0, 1]
  field h, q
  u = if h > 1e-6 { q/h } else { 0.0 }
  h_t + ∂x(q) == 0
  q_t + ∂x(q*u + g*h^2/2) == -g*h*2
  h == max(1.5 - 2x, 0) at t = 0
  q == 0 at t = 0
  h_x == 0 at x = 0, x = 1
  q == 0 at x = 0, x = 1
}
for flux in ("hll", "rusanov") {
  w = solve(beach, fv(n = 100, flux = flux, positive = (h, q) -> h), estimate = false)
  assert(min(w.values[.., 0]) >= 0, "depths by {flux}: {min(w.values[.., 0])}")
  drift = max(abs(sum(w.values[.., 0]; axis = 1) - sum(w.values[0, 0])))
  assert(drift < 1e-10, "water by {flux}: {drift}")
}

# ---- implicit steps where explicit ones would be thousands of times shorter
stiff = solve(relaxed(1e6), fv(n = 50));
stiff.u(1.0, 0.25)                     #~ 1 tol 1e-4
stiff.stats.steps < 2000               #> true
problem heat(D) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == D*u_xx
  u == sin(π*x) at t = 0
  u == 0 at x = 0, x = 1
}
fine = solve(heat(0.1), fv(n = 800));
fine.u(1.0, 0.5)                       #~ exp(-0.1π^2) tol 1e-5
fine.stats.steps < 2000                #> true
# For both kinds of steps, the derivative with respect to a parameter is that of
# the solution.
middle(D) = solve(heat(D), fv(n = 400), saveat = [1.0]).u(1.0, 0.5)
middle'(0.2)                           #~ -π^2*exp(-0.2π^2) tol 1e-4
coarse_middle(D) = solve(heat(D), fv(n = 20), saveat = [1.0]).u(1.0, 0.5)
coarse_middle'(0.2)                    #~ -π^2*exp(-0.2π^2) tol 2e-2
# a plate with the steady state sin(π*x)*sin(π*y)
problem plate {
  domain t in [0, 20], x in [0, 1], y in [0, 1]
  field u
  u_t == lap(u) + 2π^2*sin(π*x)*sin(π*y)
  u == 0 at t = 0
  u == 0 at boundary
}
plated = solve(plate, fv(n = 24), saveat = [20.0]);
plated.u(20.0, 0.5, 0.5)               #~ 1 tol 5e-3
plated.stats.steps < 500               #> true
# the total is conserved, too
shut_fine = solve(settling, fv(n = 400));
max(abs(sum(shut_fine.values[.., 0]; axis = 1)*4/400 - 1)) < 1e-10     #> true
shut_fine.stats.steps < 5000           #> true

# At the times of rows, including the first and the last, derivatives with
# respect to t have second order, (2π/100)².
problem drift {
  domain t in [0, 0.2], x in [0, 1] periodic
  field u
  u_t + u_x == 0.1*u_xx
  u == sin(2π*x) at t = 0
}
drifted(t, x) = exp(-0.4*π^2*t)*sin(2π*(x - t))
s = solve(drift, fv(n = 100));
∂(s.u, 0)(0.0, 0.31)        #~ ∂(drifted, 0)(0.0, 0.31) tol 4e-3
∂(s.u, 0)(s.times[20], 0.1) #~ ∂(drifted, 0)(s.times[20], 0.1) tol 4e-3
∂(s.u, 0)(0.2, 0.31)        #~ ∂(drifted, 0)(0.2, 0.31) tol 4e-3
