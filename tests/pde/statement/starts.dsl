# Initial and final conditions: coupled ones, and conditions at either or both
# ends of t.
# In a long check only: it takes half a minute.

# ---- coupled conditions
problem pair {
  domain t in [0, 0.5], x in [0, 1]
  field u, w
  u_t == 0.1*u_xx
  w_t == 0.1*w_xx
  u == sin(π*x) at t = 0
  w == 2*u at t = 0
  u == 0 at boundary
  w == 0 at boundary
}
problem turned {
  domain t in [0, 0.5], x in [0, 1]
  field u, w
  u_t == 0.1*u_xx
  w_t == 0.1*w_xx
  w == 2*u at t = 0
  u == sin(π*x) at t = 0
  u == 0 at boundary
  w == 0 at boundary
}
problem sums {
  domain t in [0, 0.5], x in [0, 1]
  field u, w
  u_t == 0.1*u_xx
  w_t == 0.1*w_xx
  u + w == 3*sin(π*x) at t = 0
  u - w == -sin(π*x) at t = 0
  u == 0 at boundary
  w == 0 at boundary
}
right = exp(-0.05π^2)*[1, 2]
both(p, m) = { s = solve(p, m); [s.u(0.5, 0.5), s.w(0.5, 0.5)] }
for p in (pair, turned, sums) {
  assert(max(abs(both(p, fd(n = 41)) - right)) < 1e-5)
  assert(max(abs(both(p, chebyshev(16)) - right)) < 1e-5)
  assert(max(abs(both(p, fem(0.05)) - right)) < 2e-3)
  assert(max(abs(both(p, fv(n = 50)) - right)) < 4e-4)
}
# Rates given by space derivatives: a wave that travels to the right.
problem right_going {
  domain t in [0, 0.5], x in [0, 1] periodic
  field u
  u_tt == u_xx
  u == exp(cos(2π*x)) at t = 0
  u_t == -u_x at t = 0
}
there = [exp(1.0), exp(cos(0.8π))]
solve(right_going, fd(n = 80)).u(0.3, [0.3, 0.7])         #~ there tol 2e-5
solve(right_going, fourier(n = 64)).u(0.3, [0.3, 0.7])    #~ there tol 1e-5
problem damped {
  domain t in [0, 1], x in [0, 1]
  field u
  u_tt + 2*u_t + u == 0.1*u_xx
  u == sin(π*x) at t = 0
  u_t + u == 0 at t = 0
  u == 0 at boundary
}
solve(damped, fd(n = 41)).u(1, 0.5)    #~ exp(-1)*cos(π*sqrt(0.1)) tol 1e-6
problem bent {
  domain t in [0, 1], x in [0, 1]
  field u, w
  u_t == 0.1*u_xx
  w_t == 0.1*w_xx
  u == sin(π*x) at t = 0
  w == u_xx at t = 0
  u == 0 at boundary
  w == 0 at boundary
}
map(m -> solve(bent, m).w(1, 0.5), (fd(n = 41), chebyshev(16)))    #~ (-π^2*exp(-0.1π^2), -π^2*exp(-0.1π^2)) tol 5e-5
problem pulse {
  domain t in [0, 0.5], x in [0, 1] periodic
  field p, v
  p_t + ∂x(v) == 0
  v_t + ∂x(p) == 0
  p == exp(-100*(x - 0.5)^2) at t = 0
  v == p at t = 0
}
solve(pulse, fv(n = 400)).p(0.2, 0.7)    #~ 1.0 tol 5e-3
solve(pulse, fd(n = 100)).p(0.2, 0.7)    #~ 1.0 tol 1e-4
problem parts {
  domain t in [0, 1], x in [0, 1]
  field v[2]
  v_t == 0.1*v_xx
  v[1] == 2*sin(π*x) at t = 0
  v[0] == sin(π*x) at t = 0
  v == [0, 0] at boundary
}
solve(parts, fd(n = 41)).v(1, 0.5)    #~ exp(-0.1π^2)*[1, 2] tol 1e-5
solve(parts, fem(0.05)).v(1, 0.5)     #~ exp(-0.1π^2)*[1, 2] tol 2e-2
# derivatives with respect to their parameters
problem scaled(k = 2.0) {
  domain t in [0, 0.5], x in [0, 1]
  field u, w
  u_t == 0.1*u_xx
  w_t == 0.1*w_xx
  u + w == (1 + k)*sin(π*x) at t = 0
  w == k*u at t = 0
  u == 0 at boundary
  w == 0 at boundary
}
(k -> solve(scaled(k = k), fd(n = 41)).w(0.5, 0.5))'(2.0)    #~ exp(-0.05π^2) tol 1e-4

# ---- refused, with the reason
said(p, m) = try { solve(p, m).method } catch m { m }
problem cubes {
  domain t in [0, 0.5], x in [0, 1]
  field u
  u_t == 0.1*u_xx
  u^3 == sin(π*x)^3 at t = 0
  u == 0 at boundary
}
map(m -> contains(said(cubes, m), "not linearly"), (fd(n = 41), chebyshev(16), fem(0.05), fv(n = 50)))    #> (true, true, true, true)
problem slopes {
  domain t in [0, 0.5], x in [0, 1]
  field u
  u_t == 0.1*u_xx
  u_xx == -π^2*sin(π*x) at t = 0
  u == 0 at boundary
}
map(m -> contains(said(slopes, m), "derivative in space"), (fd(n = 41), fem(0.05), fv(n = 50)))    #> (true, true, true)

# ---- conditions at the final time
problem carried {
  domain t in [0, 1], x in [0, 1] periodic
  field u
  u_t + 0.3*u_x == 0
  u == sin(2π*x) at t = 1
}
ends = [sin(1.2π), sin(0.6π)]
solve(carried).u([0.0, 1.0], 0.3)                #~ ends tol 1e-6
solve(carried, fd(n = 80)).u([0.0, 1.0], 0.3)    #~ ends tol 1e-5
solve(carried, fv(n = 100)).u([0.0, 1.0], 0.3)   #~ ends tol 5e-3
s = solve(carried, fd(n = 80));
(s.times[0], s.times[-1], all(diff(s.times) > 0))    #> (0.0, 1.0, true)
s.values[0][24]                                      #~ sin(1.2π) tol 1e-5
compare(carried, s).verdict != ""                    #> true
problem swinging {
  domain t in [0, 1], x in [0, 1]
  field u
  u_tt == u_xx
  u == sin(π*x) at t = 1
  u_t == sin(π*x) at t = 1
  u == 0 at boundary
}
swing(t) = cos(π*(t - 1)) + sin(π*(t - 1))/π
solve(swinging, fd(n = 41)).u([0.0, 0.5, 1.0], 0.5)    #~ swing([0.0, 0.5, 1.0]) tol 1e-5
# the backward heat equation, from the final time
problem backwards {
  domain t in [0, 1], x in [0, 1]
  field V
  V_t + 0.1*V_xx == 0
  V == sin(π*x) at t = 1
  V == 0 at boundary
}
before = exp(-0.1π^2*[1.0, 0.5])
for m in (fd(n = 41), chebyshev(16), fem(0.05), fv(n = 50)) { assert(max(abs(solve(backwards, m).V([0.0, 0.5], 0.5) - before)) < 2e-3) }
solve(backwards, fd(n = 41); saveat = [0.25, 0.75]).times    #> [0.25, 0.75]
solve(backwards, fd(n = 41); t = (0.5, 1.0)).V(0.5, 0.5)     #~ before[1] tol 1e-5
# Black and Scholes in textbook form: the payoff at the final time.
problem call(σ = 0.2, r = 0.05, K = 1.0) {
  domain t in [0, 1], S in [0, 4]
  field V
  V_t + σ^2/2*S^2*V_SS + r*S*V_S - r*V == 0
  V == max(S - K, 0) at t = 1
  V == 0 at S = 0
  V == 4 - K*exp(-r*(1 - t)) at S = 4
}
price(S) = { d = (log(S) + 0.07)/0.2; S*cdf(Normal(), d) - exp(-0.05)*cdf(Normal(), d - 0.2) }
solve(call).V(0.0, [0.8, 1.0, 1.2])    #~ price([0.8, 1.0, 1.2]) tol 1e-4

# In t alone: a decay over thirty time constants, second order, and with an
# algebraic equation, by any method.
problem decays(k) {
  domain t in [0, 30]
  field y
  y_t == -k*y
  y == 1 at t = 30
}
solve(decays(1.0); rtol = 1e-9).y([0.0, 30.0])/[exp(30), 1]      #~ [1, 1] tol 1e-6
solve(decays(1.0), bdf(); rtol = 1e-9, saveat = [28.0, 29.0]).y([28.0, 29.0])      #~ [exp(2), e] tol 1e-5
(k -> solve(decays(k); rtol = 1e-9).y(29.0))'(1.0)               #~ e tol 1e-6
problem circling(a) {
  domain t in [0, 1]
  field y, z
  y_tt == -z
  0 == a*z - y
  y == 1 at t = 1
  y_t == 0 at t = 1
}
for m in (auto(), bdf(), rodas5p(), rk4(0.01)) {
  s = solve(circling(1.0), m; rtol = 1e-8)
  assert(max(abs([s.y(0.0), s.z(0.0), s.y_t(0.0)] - [cos(1.0), cos(1.0), sin(1.0)])) < 1e-5, m.name)
  assert(s.times[0] == 0 and s.times[-1] == 1 and max(abs(s.values[0, ..2] - [cos(1.0), sin(1.0)])) < 1e-5, m.name)
}
(a -> solve(circling(a); rtol = 1e-8).y(0.0))'(1.0)              #~ sin(1.0)/2 tol 1e-5
solve(circling(1.0); t = (0.5, 1.0), rtol = 1e-8).y(0.5)         #~ cos(0.5) tol 1e-6
try { str(solve(circling(1.0)).y(2.0)) } catch m { m }           #> the solution is known for t from 0 to 1, and does not say how things are at 2
problem ringing {
  domain t in [0, 1]
  field y
  y_t == -y
  y == 1 at t = 1
  event high: y - 2 terminal
}
try { str(solve(ringing).y(0.0)) } catch m { contains(m, "with s = t_end - t in its place") }      #> true

# ---- conditions at both ends: t is an ordinary coordinate
problem sheet {
  domain t in [0, 1], x in [0, 1]
  field u
  u_tt + u_xx == 0
  u == sin(π*x) at t = 0
  u == 0 at t = 1
  u == 0 at boundary
}
for m in (fd(n = 41), chebyshev(16), fem(0.05)) { assert(abs(solve(sheet, m).u(0.5, 0.5) - sinh(π/2)/sinh(π)) < 1e-3) }
solve(sheet).u(0.5, 0.5)    #~ sinh(π/2)/sinh(π) tol 1e-6
