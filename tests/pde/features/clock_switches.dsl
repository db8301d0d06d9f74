# Conditions and equations that switch with time: implicit integrations restart
# at each switch.
# In a long check only: it takes half a minute.

# Insulated until 0.5, then cooled. Oracle: the series solution of the plate
# (Biot number 20).
h(t) = if t < 0.5 { 0.0 } else { 20.0 }
problem plate {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == 1 at t = 0
  u_x == 0 at x = 0
  u_x == -h(t)*u at x = 1
}
zeta = map(k -> root(z -> z*sin(z) - 20cos(z), (k*π, k*π + π/2)), 1.0*iota(6))
right = sum(4sin(zeta)/(2zeta + sin(2zeta))*exp(-0.5zeta^2)*cos(0.5zeta))
for m in (fd(n = 21), fd(n = 41), chebyshev(16)) {
  s = solve(plate, m)
  off = abs(s.u(1.0, 0.5)/right - 1)
  assert(off < 3e-6 and s.error < 3e-5 and s.error > 0.1off, "{m.name}: {off} {s.error}")
  assert(max(abs(s.u(linspace(0.0, 0.499, 30), 0.7) - 1)) < 1e-7, m.name)
}
abs(solve(plate).u(1.0, 0.5)/right - 1) < 1e-5     #> true

# A nonlinear problem. Oracle: a second solution that starts at the switch.
problem sink(h = 20.0, s = 0.3) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == 1 at t = 0
  u_x == (if t < 0.5 { 0.0 } else { h })*max(u - 0.2, 0)^2 at x = 0
  u_x == -(if t < s { 0.0 } else { h })*u at x = 1
}
problem early {
  domain t in [0.3, 0.5], x in [0, 1]
  field u
  u_t == u_xx
  u == 1 at t = 0.3
  u_x == 0 at x = 0
  u_x == -20u at x = 1
}
problem late {
  domain t in [0.5, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == 0 at t = 0.5
  u_x == 20*max(u - 0.2, 0)^2 at x = 0
  u_x == -20u at x = 1
}
a = solve(early, chebyshev(24), rtol = 1e-9, atol = 1e-11);
b = solve(late, chebyshev(24); start = a, t = (0.5, 1), rtol = 1e-9, atol = 1e-11);
s = solve(sink(), chebyshev(24), rtol = 1e-9, atol = 1e-11);
x = linspace(0, 1, 11)
max(abs(s.u(0.45, x) - a.u(0.45, x))) < 1e-7       #> true
max(abs(s.u(0.9, x) - b.u(0.9, x))) < 1e-7         #> true
s.u(0.2, 0.5)                 #~ 1.0 tol 1e-10
# rows at saved times, some of them at the switches
t = [0.0, 0.2, 0.3, 0.4, 0.5, 0.8, 1.0]
w = solve(sink(), chebyshev(24), rtol = 1e-9, atol = 1e-11, saveat = t);
w.times                       #> [0, 0.2, 0.3, 0.4, 0.5, 0.8, 1]
max(abs(w.u(t, 0.5) - s.u(t, 0.5))) < 1e-6         #> true
shape(w.values) == (7, 25)    #> true

# Derivatives with respect to parameters of the conditions are right; those with
# respect to the time of a switch are refused.
k(h) = solve(sink(h), fd(n = 21), rtol = 1e-8, estimate = false).u(1.0, 0.5)
k'(20)                        #~ (k(20.01) - k(19.99))/0.02 tol 1e-4
grad(k)(20.0)                 #~ k'(20) tol 1e-6
contains(try { str((s -> solve(sink(20.0, s), fd(n = 21), estimate = false).u(1.0, 0.5))'(0.3)) } catch m { m }, "switches at a time")   #> true

# equations in t alone, with an algebraic unknown
problem turned {
  domain t in [0, 1]
  field x, z
  x_t == z
  z == (if t < 0.5 { 1.0 } else { -1.0 })
  x == 0 at t = 0
}
s = solve(turned);
s.x([0.25, 0.5, 0.75])        #~ [0.25, 0.5, 0.25] tol 1e-8
s.z([0.25, 0.75])             #~ [1, -1] tol 1e-12
s.x(1.0)                      #~ 0 tol 1e-8
problem pulses {
  domain t in [0, 1]
  field x, z
  x_t == z - x
  z == (if mod(t, 0.1) < 0.05 { 1.0 } else { -1.0 })
  x == 0 at t = 0
}
s = solve(pulses, rtol = 1e-9);
v = 0.0
for i in 0..10 { v = 1 + (v - 1)*exp(-0.05); v = -1 + (v + 1)*exp(-0.05) }
s.x(1.0)                      #~ v tol 1e-8
s.error < 1e-6                #> true
# a comparison of anything but t is no switch in time
problem free {
  domain t in [0, 2]
  field x, z
  x_t == -z
  z == (if x > 0.5 { 1.0 } else { 2x })
  x == 1 at t = 0
}
solve(free, rtol = 1e-9).x(1.5)    #~ 0.5exp(-2) tol 1e-6

# Switches outside the interval, and two switches at the same time.
problem unswitched(at) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == 1 at t = 0
  u_x == 0 at x = 0
  u_x == -(if t < at { 0.0 } else { 20.0 })*u at x = 1
}
solve(unswitched(3.0), fd(n = 21)).u(1.0, 0.5)                     #~ 1.0 tol 1e-10
abs(solve(unswitched(-1.0), fd(n = 41)).u(0.5, 0.5)/solve(unswitched(-1.0), chebyshev(24)).u(0.5, 0.5) - 1) < 2e-5  #> true
problem at_once {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == 1 at t = 0
  u_x == (if t < 0.5 { 0.0 } else { 20.0 })*u at x = 0
  u_x == -(if 2t < 1 { 0.0 } else { 20.0 })*u at x = 1
}
# Cooled at both ends: the plate again, with half the width.
zeta = map(k -> root(z -> z*sin(z) - 10cos(z), (k*π, k*π + π/2)), 1.0*iota(6))
right = sum(4sin(zeta)/(2zeta + sin(2zeta))*exp(-4*0.1*zeta^2))
abs(solve(at_once, fd(n = 41)).u(0.6, 0.5)/right - 1) < 1e-5      #> true

# Kinks in time, in an equation and in a condition: second derivatives with
# respect to their time, also where fv() has a row at that time.
problem bent(s = 0.6) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx + abs(t - s)
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == max(t - s, 0.0) at x = 1
}
# The mean of u: s^2/2 + (1 - s)^2/2 from the equation and (1 - s)^2/2 through
# the end. The trapezium rule adds h^2/12.
for m in list(fd(n = 11)) {
  f = s -> { u = solve(bent(s), m, rtol = 1e-7, atol = 1e-9, estimate = false).u; x = linspace(0.0, 1.0, 51); trapz(u(1.0, x), x) }
  e = stack(grad(f)(0.6) - (-0.2), grad(grad(f))(0.6) - 3)
  assert(max(abs(e)) < 5e-5, "{m.name}: off by {e}")
}
volumes(s) = mean(solve(bent(s), fv(n = 4), rtol = 1e-7, atol = 1e-9, estimate = false).u(1.0, [0.125, 0.375, 0.625, 0.875]))
grad(grad(volumes))(0.6)         #~ 3 tol 2e-4
# two switches at one time
problem twice(a = 0.6, b = 0.6) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx + (if t < a { 1.0 } else { 0.0 }) + (if t < b { 2.0 } else { 0.0 })
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == 0 at x = 1
}
for m in list(fv(n = 4), fd(n = 11)) {
  g = grad(p -> solve(twice(p[0], p[1]), m, estimate = false).u(1.0, 0.5))([0.6, 0.6])
  assert(max(abs(g - [1.0, 2.0])) < 1e-6, "{m.name}: {g}")
}
# With Fourier modes: u = v(t)*sin(x), where v depends on both switches.
problem switched(a, b) {
  domain t in [0, 1], x in [0, 2π] periodic
  field u
  u_t == 0.1u_xx + (if t < a { 0 } else { 3 })*u + (if t < b { 0 } else { 2*sin(x) })
  u == sin(x) at t = 0
}
right(q) = {
  (v, rest) = (exp(-0.1q[0] + 2.9(q[1] - q[0])), exp(2.9(1 - q[1])))
  sin(1.0)*(v*rest + 2(rest - 1)/2.9)
}
q = [0.5, 0.5];
at(q) = solve(switched(q[0], q[1]), fourier(8); rtol = 1e-10, atol = 1e-12).u(1.0, 1.0)
(at(q), grad(at)(q))             #~ (right(q), grad(right)(q)) tol 1e-7
# the same in two dimensions, where one field follows from the other
problem plane(a, b) {
  domain t in [0, 1], x in [0, 2π] periodic, y in [0, 2π] periodic
  field u, v
  u_t == v + (if t < a { 0 } else { 3 })*u*(1 + 0v) + (if t < b { 0 } else { 2*sin(x)*cos(y) })
  v == 0.05*Δ(u)
  u == sin(x)*cos(y) at t = 0
}
at(q) = solve(plane(q[0], q[1]), fourier(8); rtol = 1e-10, atol = 1e-12).u(1.0, 1.0, 0.0)
(at(q), grad(at)(q))             #~ (right(q), grad(right)(q)) tol 1e-7
# Finite elements refuse these second derivatives.
said = try { grad(grad(s -> solve(bent(s), fem(0.5), estimate = false).u(1.0, 0.5)))(0.6); "" } catch e { e }
contains(said, "bends at a time that depends on what is differentiated by")   #> true
# A reverse-mode gradient through a solution that is 0 until the switch.
problem idle(s = 0.6) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == (if t < s { 0.0 } else { t - s }) at x = 1
}
late(s) = { u = solve(idle(s), fd(n = 11), rtol = 1e-7, atol = 1e-9, estimate = false).u; x = linspace(0.0, 1.0, 51); trapz(u(1.0, x), x) }
grad(late)(0.6)                  #~ -0.4 tol 5e-5
