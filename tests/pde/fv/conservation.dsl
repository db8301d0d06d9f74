# Conservation laws by finite volumes: Riemann problems with exact solutions,
# orders, conservation, and refusals.
# As users run it only: compiling all of it takes long.

# ---- WENO5: the largest errors at faces of sin(2πx + 1), as published
# discretizations.earthsci.dev, rule weno5_advection.
face_error(n; method = "weno5") = {
  e = linspace(0, 1, n + 1)
  F(x) = -cos(2π*x + 1)/(2π)
  max(abs(reconstruct(n*(F(e[1..]) - F(e[..-1])); method = method) - sin(2π*e[1..] + 1)))
}
face_error(32)               #~ 3.4137e-05 tol 1e-4
face_error(64)               #~ 1.0656e-06 tol 1e-4
face_error(128)              #~ 3.3254e-08 tol 1e-4
face_error(256)              #~ 1.0377e-09 tol 1e-4
log2(face_error(64; method = "weno5z")/face_error(128; method = "weno5z")) > 4.85     #> true
abs(log2(face_error(64; method = "muscl")/face_error(128; method = "muscl")) - 2) < 1.1   #> true

# ---- Sod's tube (E. F. Toro, Riemann Solvers, test 1)
# p* and u* are from its exact solution.
problem sod(γ = 1.4) {
  domain t in [0, 0.2], x in [0, 1]
  field ρ, m, E
  u = m/ρ
  p = (γ - 1)*(E - 0.5*m*u)
  ρ_t + ∂x(m) == 0
  m_t + ∂x(m*u + p) == 0
  E_t + ∂x((E + p)*u) == 0
  ρ == if x < 0.5 { 1 } else { 0.125 }  at t = 0
  m == 0                                at t = 0
  E == if x < 0.5 { 2.5 } else { 0.25 } at t = 0
  ρ_x == 0 at x = 0, x = 1
  m_x == 0 at x = 0, x = 1
  E_x == 0 at x = 0, x = 1
}
conservation(sod())
#> ρ_t + ∂x(m) == 0
#> m_t + ∂x(m*u + p) == 0
#> E_t + ∂x((E + p)*u) == 0
# The distance from (ρ*L, ρ*R, u*, p*), between the rarefaction and the contact,
# and between the contact and the shock.
stars(m) = {
  s = solve(sod(), m, saveat = [0.2], estimate = false)
  x = 0.5 + 0.2*[0.5, 1.3]
  ρ = s.ρ(0.2, x)
  u = s.m(0.2, x)/ρ
  p = 0.4*(s.E(0.2, x) - 0.5*ρ*u^2)
  max(abs(concat(ρ - [0.426319428178495, 0.265573711705307], u - 0.92745262004895, p - 0.303130178050647)))
}
stars(fv(n = 400, flux = "rusanov", reconstruct = "weno5")) < 5e-4     #> true
stars(fv(n = 400, flux = "hll", reconstruct = "weno5z")) < 1e-3        #> true
stars(fv(n = 400, flux = "hllc")) < 1e-3                               #> true
stars(fv(n = 400, flux = "roe", limiter = "minmod")) < 1e-3            #> true
stars(fv(n = 400, flux = "hll", limiter = "superbee")) < 5e-3          #> true
stars(fv(n = 400, reconstruct = "first")) < 2e-2                       #> true

# ---- Stoker's dam break, and Ritter's on a dry bed
problem dam(right = 0.1, T = 0.1, g = 9.81) {
  domain t in [0, T], x in [-1, 1]
  field h, q
  u = if h > 1e-6 { q/h } else { 0.0 }
  h_t + ∂x(q) == 0
  q_t + ∂x(q*u + g*h^2/2) == 0
  h == if x < 0 { 1 } else { right } at t = 0
  q == 0   at t = 0
  h_x == 0 at x = -1, x = 1
  q_x == 0 at x = -1, x = 1
}
for f in ("rusanov", "hll", "roe") {
  d = solve(dam(), fv(n = 800, flux = f), saveat = [0.1], estimate = false)
  h = d.h(0.1, 0.2)
  assert(abs(h - 0.396174816799443) < 2e-4, "h* by {f}: {h}")
  assert(abs(d.q(0.1, 0.2)/h - 2.32135499564074) < 2e-3, "u* by {f}")
}
wet = (h, q) -> h - 1e-9
r = solve(dam(0.0), fv(n = 800, flux = "hll", limiter = "minmod", positive = wet), saveat = [0.1]);
r.h(0.1, 0.0)                          #~ 4/9 tol 6e-3
r.q(0.1, 0.0)/r.h(0.1, 0.0)            #~ 2/3*sqrt(9.81) tol 6e-3
# h = (2 sqrt(g h0) - x/t)²/(9g) inside the fan
xs = linspace(-0.28, 0.5, 40)
max(abs(r.h(0.1, xs) - (2*sqrt(9.81) - xs/0.1)^2/(9*9.81))) < 5e-3     #> true
min(r.values[-1, 0]) >= 0              #> true

# ---- conservation: sums over cells are constant where nothing leaves
problem ring() {
  domain t in [0, 0.4], x in [0, 1] periodic
  field h, q
  h_t + ∂x(q) == 0
  q_t + ∂x(q^2/h + h^2/2) == 0
  h == 1 + 0.3*sin(2π*x) at t = 0
  q == 0.2 at t = 0
}
c = solve(ring(), fv(n = 128, flux = "hll", reconstruct = "weno5"));
max(abs(sum(c.values; axis = 2) - sum(c.values[0]; axis = 1))) < 1e-11     #> true
# walls: the water is conserved, its momentum is not
problem basin() {
  domain t in [0, 1], x in [0, 1]
  field h, q
  h_t + ∂x(q) == 0
  q_t + ∂x(q^2/h + h^2/2) == 0
  h == 1 + 0.3*cos(π*x) at t = 0
  q == 0 at t = 0
  h_x == 0 at x = 0, x = 1
  q == 0   at x = 0, x = 1
}
b = solve(basin(), fv(n = 100));
max(abs(sum(b.values[.., 0]; axis = 1) - 100)) < 1e-11                 #> true

# ---- orders: advection of a smooth wave, cell averages compared
problem wave() {
  domain t in [0, 1], x in [0, 1] periodic
  field u
  u_t + u_x == 0
  u == sin(2π*x) at t = 0
}
conservation(wave())                   #> u_t + u_x == 0, with the flux of u_x by integration
averages(n) = { e = linspace(0, 1, n + 1); n*(cos(2π*e[..-1]) - cos(2π*e[1..]))/(2π) }
wave_error(n, m) = mean(abs(solve(wave(), m, saveat = [1.0], estimate = false).values[-1, 0] - averages(n)))
# short steps, because time stepping has order 3
weno_order = log2(wave_error(32, fv(n = 32, reconstruct = "weno5", cfl = 0.1))/wave_error(64, fv(n = 64, reconstruct = "weno5", cfl = 0.05)))
abs(weno_order - 5) < 0.15             #> true
abs(log2(wave_error(100, fv(n = 100, reconstruct = "first"))/wave_error(200, fv(n = 200, reconstruct = "first"))) - 1) < 0.15     #> true
abs(log2(wave_error(100, fv(n = 100, limiter = "vanleer"))/wave_error(200, fv(n = 200, limiter = "vanleer"))) - 2) < 0.3          #> true
# the SSP steps alone: on one grid, against very short ones
at_end(cfl, how) = solve(wave(), fv(n = 40, reconstruct = "weno5", cfl = cfl, steps = how), saveat = [1.0], estimate = false).values[-1, 0]
best = at_end(0.02, "ssprk3");
time_order(how) = log2(norm(at_end(0.4, how) - best)/norm(at_end(0.2, how) - best))
abs(time_order("ssprk3") - 3) < 0.15   #> true
abs(time_order("ssprk2") - 2) < 0.15   #> true

# At a shock of Burgers' equation, order 1 in L1: u = x/(1 + t) between shocks
# at 0 and sqrt(1 + t).
problem ramp() {
  domain t in [0, 1.25], x in [-1, 2]
  field u
  u_t + u*u_x == 0
  u == if x > 0 and x < 1 { x } else { 0 } at t = 0
  u == 0 at x = -1, x = 2
}
ramp_error(n, m) = {
  e = linspace(-1, 2, n + 1)
  P(x) = clamp(x, 0.0, 1.5)^2/4.5
  mean(abs(solve(ramp(), m, saveat = [1.25], estimate = false).values[-1, 0] - n/3*(P(e[1..]) - P(e[..-1]))))*3
}
abs(log2(ramp_error(300, fv(n = 300, reconstruct = "weno5"))/ramp_error(1200, fv(n = 1200, reconstruct = "weno5")))/2 - 1) < 0.15     #> true

# ---- Godunov's flux: where f' changes sign between the states, and not
problem step(a, b) {
  domain t in [0, 0.01], x in [-1, 1]
  field u
  u_t + ∂x(u^2/2) == 0
  u == if x < 0 { a } else { b } at t = 0
  u_x == 0 at x = -1, x = 1
}
# One step of 0.01 with two cells: the flux at x = 0 is the loss of the first
# cell plus f(a).
passes(a, b; f = "godunov") = {
  s = solve(step(a, b), fv(n = 2, flux = f, reconstruct = "first"), saveat = [0.01], estimate = false)
  a^2/2 - (s.values[-1, 0, 0] - a)/0.01
}
passes(-1.0, 1.0)                      #~ 0 tol 1e-12
passes(1.0, -0.5)                      #~ 0.5 tol 1e-12
passes(0.5, -1.0)                      #~ 0.5 tol 1e-12
passes(0.5, 1.0)                       #~ 0.125 tol 1e-12
passes(-1.0, -0.5)                     #~ 0.125 tol 1e-12
passes(1.0, -0.5; f = "rusanov")       #~ 0.5*(0.5 + 0.125) + 0.5*1.5 tol 1e-12
# With three fields, Rusanov's flux reveals the largest speed: with two cells
# and a step of 0.01, u loses (M[0, 0] - a)/2 of a jump of 1.
problem three(M) {
  domain t in [0, 0.01], x in [-1, 1]
  field u, v, w
  u_t + ∂x(M[0, 0]*u + M[0, 1]*v + M[0, 2]*w) == 0
  v_t + ∂x(M[1, 0]*u + M[1, 1]*v + M[1, 2]*w) == 0
  w_t + ∂x(M[2, 0]*u + M[2, 1]*v + M[2, 2]*w) == 0
  u == if x < 0 { 1 } else { 0 } at t = 0
  v == 0 at t = 0
  w == 0 at t = 0
  u_x == 0 at x = -1, x = 1
  v_x == 0 at x = -1, x = 1
  w_x == 0 at x = -1, x = 1
}
fastest(M) = M[0, 0] - (solve(three(M), fv(n = 2, flux = "rusanov", reconstruct = "first"), saveat = [0.01], estimate = false).values[-1, 0, 0] - 1)/0.005
symmetric(a, b, c, d, e, f) = [[a, b, c], [b, d, e], [c, e, f]]
speeds_right(M) = abs(fastest(M)/max(abs(real(eigvals(M)))) - 1) < 1e-11
speeds_right(symmetric(1.0, 0.3, -0.5, 0.2, 0.7, -1.1))        #> true
speeds_right(-symmetric(1.0, 0.3, -0.5, 0.2, 0.7, -1.1))       #> true
speeds_right(symmetric(0.1, 2.0, 0.0, -0.2, 0.5, 3.0))         #> true
# a zero in the middle, double eigenvalues at either end, all three equal
speeds_right(symmetric(0.0, 1.0, 0.0, 0.0, 2.0, 0.0))          #> true
speeds_right(symmetric(2.0, 0.0, 0.0, 1.0, 0.0, 2.0))          #> true
speeds_right(symmetric(1.0, 0.0, 0.0, -2.0, 0.0, 1.0))         #> true
fastest(symmetric(3.0, 0.0, 0.0, 3.0, 0.0, 3.0))               #~ 3 tol 1e-12
passes(0.5, 1.0; f = "hll")            #~ 0.125 tol 1e-12
passes(0.5, 1.0; f = "roe")            #~ 0.125 tol 1e-12

# ---- diffusion: Burgers' equation with ν = 0.01/π, in three spellings
# Values by the Cole-Hopf transformation.
problem viscous() {
  domain t in [0, 0.5], x in [-1, 1]
  field u
  ν = 0.01/π
  u_t + u*u_x == ν*u_xx
  u == -sin(π*x) at t = 0
  u == 0         at x = -1, x = 1
}
problem viscous_flux() {
  domain t in [0, 0.5], x in [-1, 1]
  field u
  ν = 0.01/π
  u_t + ∂x(u^2/2 - ν*u_x) == 0
  u == -sin(π*x) at t = 0
  u == 0         at x = -1, x = 1
}
conservation(viscous())                #> u_t + u*u_x == ν*u_xx, with the flux of u*u_x by integration
for p in (viscous(), viscous_flux()) {
  v = solve(p, fv(n = 800, reconstruct = "weno5"), saveat = [0.5])
  e = abs(v.u(0.5, [0.05, 0.1, 0.25, 0.5, 0.75]) + [0.978982178395071, 0.958159553418906, 0.847354524450928, 0.592769534402051, 0.30284270834735])
  assert(max(e) < 2e-4, "viscous Burgers: {max(e)}")
}

# ---- sources, fluxes that depend on x, inflow
problem decay() {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t + ∂x((1 + x)*u) == -u
  u == 1 at t = 0
  u == exp(-2t) at x = 0
}
# along x' = 1 + x, u' = -2u: u = exp(-2t) everywhere
k = solve(decay(), fv(n = 200));
max(abs(k.u(1.0, linspace(0.05, 0.95, 10)) - exp(-2))) < 1e-3          #> true
# The same in quasilinear form: (1 + x)u_x has the flux (1 + x)u and the source
# u.
problem decay2() {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t + (1 + x)*u_x == -2u
  u == 1 at t = 0
  u == exp(-2t) at x = 0
}
max(abs(solve(decay2(), fv(n = 200)).u(1.0, linspace(0.05, 0.95, 10)) - exp(-2))) < 1e-3     #> true

# ---- a vector field, a linear system: u_t + A u_x = 0
problem acoustic() {
  domain t in [0, 0.25], x in [0, 1] periodic
  field w[2]
  w_t + ∂x([w[1], 4*w[0]]) == 0
  w == [sin(2π*x), 0.0*x] at t = 0
}
a = solve(acoustic(), fv(n = 200, flux = "roe", reconstruct = "weno5"));
# p = (sin(2π(x - 2t)) + sin(2π(x + 2t)))/2
a.w(0.25, 0.3)[0]                      #~ -sin(0.6π) tol 3e-6
a.w(0.25, [0.1, 0.3])[.., 0]           #~ [-sin(0.2π), -sin(0.6π)] tol 3e-6
problem acoustic2() {
  domain t in [0, 0.25], x in [0, 1] periodic
  field p, v
  p_t + v_x == 0
  v_t + 4*p_x == 0
  p == sin(2π*x) at t = 0
  v == 0 at t = 0
}
solve(acoustic2(), fv(n = 200, flux = "hll", reconstruct = "weno5")).p(0.25, 0.3)     #~ -sin(0.6π) tol 3e-6

# ---- two coordinates
problem drift() {
  domain t in [0, 1], x in [0, 1] periodic, y in [0, 1] periodic
  field u
  u_t + ∂x(u) + ∂y(2u) == 0
  u == sin(2π*x)*cos(2π*y) at t = 0
}
drift_error(n, how) = {
  s = solve(drift(), fv(n = n, reconstruct = how, cfl = 0.4), saveat = [1.0], estimate = false)
  e = linspace(0, 1, n + 1)
  S = n*(cos(2π*e[..-1]) - cos(2π*e[1..]))/(2π)
  C = n*(sin(2π*e[1..]) - sin(2π*e[..-1]))/(2π)
  mean(abs(s.values[-1, 0] - expand(S, 1)*expand(C, 0)))
}
drift_error(40, "weno5") < 2e-4        #> true
log2(drift_error(16, "weno5")/drift_error(32, "weno5")) > 3.5      #> true
log2(drift_error(32, "muscl")/drift_error(64, "muscl")) > 1.6      #> true
# A shock tube along either coordinate equals the one-dimensional one.
problem tube2(turned) {
  domain t in [0, 0.1], x in [0, 1], y in [0, 1]
  field ρ, m, n, E
  p = 0.4*(E - 0.5*(m^2 + n^2)/ρ)
  ρ_t + ∂x(m) + ∂y(n) == 0
  m_t + ∂x(m^2/ρ + p) + ∂y(m*n/ρ) == 0
  n_t + ∂x(m*n/ρ) + ∂y(n^2/ρ + p) == 0
  E_t + ∂x((E + p)*m/ρ) + ∂y((E + p)*n/ρ) == 0
  ρ == if (1 - turned)*x + turned*y < 0.5 { 1 } else { 0.125 }  at t = 0
  m == 0 at t = 0
  n == 0 at t = 0
  E == if (1 - turned)*x + turned*y < 0.5 { 2.5 } else { 0.25 } at t = 0
  ρ_x == 0 at x = 0, x = 1
  m_x == 0 at x = 0, x = 1
  n_x == 0 at x = 0, x = 1
  E_x == 0 at x = 0, x = 1
  ρ_y == 0 at y = 0, y = 1
  m_y == 0 at y = 0, y = 1
  n_y == 0 at y = 0, y = 1
  E_y == 0 at y = 0, y = 1
}
for f in ("rusanov", "hllc") {
  along = solve(tube2(0.0), fv(n = (100, 8), flux = f), saveat = [0.1], estimate = false)
  up = solve(tube2(1.0), fv(n = (8, 100), flux = f), saveat = [0.1], estimate = false)
  one = solve(sod(), fv(n = 100, flux = f, cfl = 0.7), saveat = [0.1], estimate = false)
  assert(max(abs(along.values[-1, 0] - up.values[-1, 0]')) < 1e-12, "turned by {f}")
  assert(max(abs(along.values[-1, 0, .., 3] - one.values[-1, 0])) < 5e-3, "the tube in two dimensions by {f}")
  assert(max(abs(along.values[-1, 2])) < 1e-13)
}

# ---- vector fields in two coordinates, div and grad, derivatives
# Derivatives with respect to parameters, through the time stepping.
problem sound() {
  domain t in [0, 0.3], x in [0, 1] periodic, y in [0, 1] periodic
  field p, v[2]
  p_t + div(v) == 0
  v_t + grad(p) == [0.0, 0]
  p == sin(2π*x)*cos(2π*y) at t = 0
  v == [0.0, 0] at t = 0
}
conservation(sound())
#> p_t + ∂x(v[0]) + ∂y(v[1]) == 0
#> v_t + grad(p) == [0.0, 0], with the flux of grad(p) by integration
s = solve(sound(), fv(n = 40, reconstruct = "weno5", flux = "hll"), estimate = false);
ω = 2π*sqrt(2);
s.p(0.3, 0.2, 0.1)                     #~ sin(0.4π)*cos(0.2π)*cos(ω*0.3) tol 3e-3
s.v(0.3, 0.2, 0.1)                     #~ [-2π*cos(0.4π)*cos(0.2π)*sin(ω*0.3)/ω, 2π*sin(0.4π)*sin(0.2π)*sin(ω*0.3)/ω] tol 2e-2
problem spread() {
  domain t in [0, 0.1], x in [0, 1] periodic, y in [0, 1] periodic
  field u
  u_t + div([u, 2u]) == div(0.1*grad(u))
  u == 1 + sin(2π*x)*cos(2π*y) at t = 0
}
solve(spread(), fv(n = 40, reconstruct = "weno5"), estimate = false).u(0.1, 0.2, 0.1)     #~ 1 + exp(-0.08π^2)*sin(0.2π)*cos(0.2π) tol 2e-3
problem faster(c) {
  domain t in [0, 0.5], x in [0, 1] periodic
  field u
  u_t + ∂x(c*u^2/2) == 0
  u == 1 + 0.1*sin(2π*x) at t = 0
}
at_middle(c) = solve(faster(c), fv(n = 60, reconstruct = "weno5"), estimate = false).u(0.5, 0.3)
at_middle'(1.0)                        #~ (at_middle(1.001) - at_middle(0.999))/2e-3 tol 1e-4
