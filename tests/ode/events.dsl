# Events: times and states against closed forms, their effect on derivatives,
# and degenerate cases with no event or several at one time.

# A ball dropped from h0 that keeps the fraction e of its speed: times and
# heights in closed form.
problem ball(h0 = 10.0, e = 0.8, g = 9.81) {
  domain t in [0, 9.5]
  field h
  h_tt == -g
  h == h0 at t = 0
  h_t == 0 at t = 0
  event impact: h falling { h_t = -e*h_t }
  event top: h_t falling
}
impacts = [1.42784312292706, 3.71239211961037, 5.54003131695701, 7.00214267483432, 8.17183176113618, 9.10758303017766]
b = solve(ball(), bdf(), rtol = 1e-11, atol = 1e-13);
b.events.impact.times                #~ impacts tol 1e-10
b.h(5.0)                             #~ 3.41068478181494 tol 1e-9
b.events.top.times[0]                #~ (impacts[0] + impacts[1])/2 tol 1e-9
len(b.events.times)                  #> 12
b.events.which[..3]                  #> [0, 1, 0]
# At a jump, a function of t has the left value; just after it, the right value.
v = sqrt(2*9.81*10)
b.h_t(b.events.times[0]) + v         #~ 0 tol 1e-9
b.h_t(b.events.times[0] + 1e-9) - 0.8v       #~ 0 tol 1e-7
b.events.impact.after[0]             #~ [0, 0.8v] tol 1e-9
a = solve(ball(), adams(), rtol = 1e-10, atol = 1e-12);
a.events.impact.times                #~ impacts tol 1e-10
d = solve(ball(), dop853(), rtol = 1e-10, atol = 1e-12);
d.events.impact.times                #~ impacts tol 1e-10
d.h(5.0)                             #~ 3.41068478181494 tol 1e-10

# Derivatives of an event time, and of a value after two events, with respect to
# the problem's parameters.
third(m) = p -> solve(ball(p[0], p[1], p[2]), m, t = (0.0, 6.0), rtol = 1e-10, atol = 1e-12).events.impact.times[2]
third_exact(p) = sqrt(2*p[0]/p[2])*(1 + 2*p[1] + 2*p[1]^2)
q = [10.0, 0.8, 9.81]
grad(third(bdf()))(q)                #~ grad(third_exact)(q) tol 1e-8
jacobian(third(bdf()))(q)            #~ grad(third_exact)(q) tol 1e-8
hessian(third(adams()))(q)           #~ hessian(third_exact)(q) tol 1e-7
grad(third(dop853()))(q)             #~ grad(third_exact)(q) tol 1e-8
later(p) = solve(ball(p[0], p[1], p[2]), bdf(), t = (0.0, 5.0), rtol = 1e-10, atol = 1e-12).h(5.0)
later_exact(p) = { s = 5 - sqrt(2*p[0]/p[2])*(1 + 2*p[1]); p[1]^2*sqrt(2*p[0]*p[2])*s - p[2]*s^2/2 }
later(q)                             #~ later_exact(q) tol 1e-8
grad(later)(q)                       #~ grad(later_exact)(q) tol 1e-7
jvp(later, q, [1.0, 2, 3])[1]        #~ grad(later_exact)(q) @ [1.0, 2, 3] tol 1e-7
# with respect to the initial time, and to the time of evaluation
from(t0) = ode((t, y) -> [y[1], -9.81], [10.0, 0], (t0, 3.0); rtol = 1e-10, events = event((t, y) -> y[0]; then = (t, y) -> [0, -0.8*y[1]])).values[-1, 0]
from'(0.5)                           #~ -(0.8v - 9.81*(3 - 0.5 - impacts[0])) tol 1e-7
upto(t1) = ode((t, y) -> [y[1], -9.81], [10.0, 0], (0.0, t1); rtol = 1e-10, events = event((t, y) -> y[0]; then = (t, y) -> [0, -0.8*y[1]])).values[-1, 0]
upto'(3.0)                           #~ 0.8v - 9.81*(3 - impacts[0]) tol 1e-7

# Robertson's reaction with the roots of CVODE's example: y3 = 0.01 and y1 =
# 1e-4, recomputed in extended precision.
problem robertson(k = [0.04, 1e4, 3e7]) {
  domain t in [0, 4e10]
  field y[3]
  r1 = k[0]*y[0]
  r2 = k[1]*y[1]*y[2]
  r3 = k[2]*y[1]^2
  y_t == [r2 - r1, r1 - r2 - r3, r3]
  y == [1, 0, 0] at t = 0
  event early: y[2] - 0.01
  event late: y[0] - 1e-4 terminal
}
r = solve(robertson(), bdf(), rtol = 1e-10, atol = [1e-12, 1e-16, 1e-12]);
r.events.early.times / 0.264019078187633     #~ [1] tol 1e-8
r.events.late.times / 20795496.8830266       #~ [1] tol 1e-6
r.times[-1] == r.events.late.times[0]        #> true
# the same with conservation of the sum as an algebraic equation
problem conserved() {
  domain t in [0, 4e10]
  field a, b, c
  a_t == -0.04a + 1e4*b*c
  b_t == 0.04a - 1e4*b*c - 3e7*b^2
  a + b + c == 1
  a == 1 at t = 0
  b == 0 at t = 0
  event early: c - 0.01 terminal
}
c = solve(conserved(), bdf(), rtol = 1e-9, atol = 1e-13);
c.events.times / 0.264019078187633           #~ [1] tol 1e-6

# An algebraic equation, a state that jumps, and derivatives through both: y' =
# -z, z = p y, and y doubles at y = 1/2.
problem doubled(p = 1.0) {
  domain t in [0, 1.2]
  field y, z
  y_t + z == 0
  z == p*y
  y == 1 at t = 0
  event half: y - 0.5 falling { y = 2y }
}
twice(p) = solve(doubled(p), bdf(), rtol = 1e-10, atol = 1e-12)
twice(1.0).y(1.2)                    #~ 2*exp(-1.2) tol 1e-7
(p -> twice(p).y(1.2))'(1.0)         #~ -2.4*exp(-1.2) tol 1e-6
(p -> twice(p).events.times[0])'(1.0)        #~ -log(2) tol 1e-6
grad(p -> twice(p).events.times[0])(1.0)     #~ -log(2) tol 1e-6

# The same with an algebraic equation that is nonlinear in z, by IDA. The
# derivative of the event time uses the integrator's polynomial.
problem cubed(p = 1.0) {
  domain t in [0, 1.2]
  field y, z
  y_t + z == 0
  z + z^3 == p*y + (p*y)^3
  y == 1 at t = 0
  event half: y - 0.5 falling { y = 2y }
}
again(p) = solve(cubed(p), bdf(), rtol = 1e-10, atol = 1e-12)
again(1.0).y(1.2)                    #~ 2*exp(-1.2) tol 1e-7
again(1.0).events.half.times         #~ [log(2)] tol 1e-7
(p -> again(p).y(1.2))'(1.0)         #~ -2.4*exp(-1.2) tol 1e-4
(p -> again(p).events.times[0])'(1.0)        #~ -log(2) tol 1e-4

# Directions; several events at one time; none; and a zero at the initial time,
# which is no event.
swing = (t, y) -> [y[1], -y[0]]
count(e) = len(ode(swing, [0.0, 1], (0.0, 20.0); events = e).events.times)
count(event((t, y) -> y[0]))         #> 6
count(event((t, y) -> y[0]; direction = "falling"))  #> 3
count(event((t, y) -> y[0]; direction = "rising"))   #> 3
count(event((t, y) -> y[0] - 2))     #> 0
both = ode(swing, [0.0, 1], (0.0, 4.0); rtol = 1e-9, events = (event((t, y) -> y[0]; terminal = true), event((t, y) -> sin(y[0]))))
both.events.which                    #> [0, 1]
both.events.times                    #~ [π, π] tol 1e-7
# two zeros inside one step, detected at its nodes
parabola = ode((t, y) -> [2*(t - 0.5)], [0.16], (0.0, 1.0); method = dop853(), events = event((t, y) -> y[0]))
parabola.events.times                #~ [0.2, 0.8] tol 1e-6
# backward in time
ode(swing, [0.0, 1], (0.0, -4.0); rtol = 1e-9, events = event((t, y) -> y[0]; terminal = true)).events.times #~ [-π] tol 1e-7
# A right-hand side that jumps is restarted at the jump.
jump = ode((t, y) -> [if t < 1 { 1.0 } else { -1.0 }], [0.0], (0.0, 2.0); rtol = 1e-10, atol = 1e-12, events = event((t, y) -> t - 1; then = (t, y) -> y))
jump.y(2.0)                          #~ [0] tol 1e-9
# saveat
s = ode(swing, [0.0, 1], (0.0, 4.0); rtol = 1e-9, saveat = [1.0, 3.5], events = event((t, y) -> y[0]; then = (t, y) -> [0, 1.0]))
s.values[.., 0]                      #~ [sin(1.0), sin(3.5 - π)] tol 1e-7

# The methods of the language stop at the event that ends the solution: for
# every kind of method, direction, end and state change, and backward in time.
hands = (t, y) -> [y[1], -y[0], -1e3 * (y[2] - y[0])]
for m in list(tsit5(), dop853(), rodas5p(), radau5(), rk4(0.002)) {
  first = ode(hands, [0.0, 1, 0], (0.0, 300.0); method = m, rtol = 1e-8, atol = 1e-10, events = event((t, y) -> y[0] - 0.5; direction = "falling", terminal = true))
  assert(abs(first.events.times[0] - 5π/6) < 1e-5 and first.times[-1] == first.events.times[0], "{m.name} at {first.events.times}")
  assert(first.stats.rhs < 6000, "{m.name}: {first.stats.rhs} evaluations")
  back = ode(hands, [0.0, 1, 0], (0.0, -3.0); method = dop853(), events = event((t, y) -> y[0] + 0.5; terminal = true), saveat = [])
  assert(abs(back.times[-1] + π/6) < 1e-5, "backwards to {back.times[-1]}")
}
thrown(m) = ode((t, y) -> [y[1], -9.81 - 0.1 * y[1]], [10.0, 0], (0.0, 12.0); method = m, rtol = 1e-9, atol = 1e-11, events = list(
  event((t, y) -> y[0]; direction = "falling", then = (t, y) -> [0.0, -0.9y[1]]), event((t, y) -> y[1])))
by_bdf = thrown(bdf());
for (m, most) in list((rodas5p(), 100), (radau5(), 180), (dop853(), 50)) {
  by_m = thrown(m)
  assert(len(by_m.events.times) == len(by_bdf.events.times), "{m.name}: {len(by_m.events.times)} events")
  assert(max(abs(by_m.events.times - by_bdf.events.times)) < 1e-5, "{m.name}: times")
  # Each piece counts its own steps, not those to the end of the interval.
  assert(by_m.stats.steps < most, "{m.name}: {by_m.stats.steps} steps")
}

# ---- events by name, in ode() and in problems
named = ode((t, y) -> [y[1], -9.81], [10.0, 0], (0.0, 100.0); events = list(event((t, y) -> y[0]; name = "ground", terminal = true),
  event((t, y) -> y[0] - 5; name = "half"), event((t, y) -> y[1] + 1)));
named.events.ground.times            #~ [sqrt(20/9.81)] tol 1e-4
named.events.half.times              #~ [sqrt(10/9.81)] tol 1e-4
named.events.half.states             #~ [5, -sqrt(98.1)] tol 1e-3
len(named.events.times)              #> 3
try { str(ode((t, y) -> -y, [1.0], (0.0, 1.0); events = list(event((t, y) -> y[0] - 0.5; name = "x"), event((t, y) -> y[0]; name = "x")))) } catch m { m }
#> an event cannot be called x: another one is
try { str(ode((t, y) -> -y, [1.0], (0.0, 1.0); events = event((t, y) -> y[0] - 0.5; name = "times"))) } catch m { m }
#> an event cannot be called times: events has that already

# ---- accumulating events
# With partial = true, the solution ends where they accumulate. The bounces
# accumulate at sqrt(4/9.81)*(1 + 2*0.6/(1 - 0.6)) = 2.554.
problem bouncing(e = 0.6) {
  domain t in [0, 10]
  field h
  h_tt == -9.81
  h == 2 at t = 0
  h_t == 0 at t = 0
  event bounce: h falling { h_t = -e*h_t }
}
until = solve(bouncing(), partial = true);
(until.complete, len(until.events.bounce.times) > 8)         #> (false, true)
until.times[-1]                      #~ sqrt(4/9.81)*4 tol 0.01
until.h(1.0)                         #~ sqrt(2*9.81*2)*0.6*(1 - sqrt(4/9.81)) - 9.81/2*(1 - sqrt(4/9.81))^2 tol 1e-4
by_ode = ode((t, y) -> [y[1], -9.81], [2.0, 0], (0.0, 10.0); method = dop853(), partial = true, events = event((t, y) -> y[0]; direction = "falling", then = (t, y) -> [0.0, -0.6y[1]], name = "bounce"));
(by_ode.complete, abs(by_ode.times[-1] - 4*sqrt(4/9.81)) < 0.01)     #> (false, true)
try { str(solve(bouncing()).complete) } catch m { m[..38] }  #> events follow each other too closely a

# ---- resting contact, at default tolerances
# Two weights and a spring. Oracle: SciPy's DOP853 at 1e-12 with the contact as
# a mode.
spring(u) = 450*(1 - abs(u[1] - u[0]))
stacked(t, u) = {
  down = -9.8 - spring(u)
  [u[2], u[3], if u[0] <= 0 { max(0.0, down) } else { down }, -9.8 + spring(u)]
}
floor = event((t, u) -> u[0]; direction = "falling", then = (t, u) -> [0.0, u[1], 0.0, u[3]])
for m in list(auto(), dop853(), radau5()) {
  print(m.name, abs(ode(stacked, [5.0, 6, 0, 0], (0.0, 4.0); events = floor, method = m).y(4.0)[1] - 0.95583398) < 0.02)
}
#> auto true
#> dop853 true
#> radau5 true
# A body on a vibrating plate: it rests, is thrown up and lands again, once a
# period.
shaken(t, u) = { a = -9.81 + 18sin(3t); [u[1], if u[0] <= 0 and u[1] <= 0 { max(0.0, a) } else { a }] }
plate = event((t, u) -> u[0]; direction = "falling", name = "landing", then = (t, u) -> [0.0, 0.0])
landings(m, r) = ode(shaken, [1.0, 0], (0.0, 6.0); events = plate, method = m, rtol = r, atol = 1e-3r).events.landing.times
landings(tsit5(), 1e-6)              #~ landings(dop853(), 1e-9) tol 1e-4
len(landings(tsit5(), 1e-6))         #> 3

# A function that reaches zero and stays there is one event, at the zero, for
# every method.
for m in (dop853(), bdf(), tsit5(), radau5(), adams(), rodas5p(), auto()) {
  o = (rtol = 1e-9, atol = 1e-12, method = m)
  for g in ((t, y) -> max(y[0] - 0.6, 0.0), (t, y) -> f64(y[0] > 0.6)) {
    for then in (none, (t, y) -> y) {
      t = ode((t, y) -> -3y, [0.7], (0.0, 1.0); events = event(g; then = then), ...o).events.times
      assert(len(t) == 1 and abs(t[0] - log(7/6)/3) < 1e-7, "{m.name}: {t}")
    }
  }
  t = ode((t, y) -> [cos(t)], [0.0], (0.0, 10.0); events = event((t, y) -> max(y[0], 0.0)), ...o).events.times
  assert(len(t) == 2 and max(abs(t - [π, 3π])) < 1e-6, "{m.name}: {t}")
}
# An event written as an equation happens where both sides are equal.
problem reaches {
  domain t in [0, 3]
  field u
  u_t == cos(t)
  u == 0 at t = 0
  event high: u == 0.6 rising
  event low: u == 0.5 falling
}
s = solve(reaches);
s.events.high.times                  #~ [asin(0.6)] tol 1e-5
s.events.low.times                   #~ [π - asin(0.5)] tol 1e-5

# A function with two zeros inside a step: sin(t) - c near its maximum.
for m in list(tsit5(), dop853(), radau5(), rodas5p(), adams(), bdf(), auto()) {
  for c in [1 - 1e-4, 1 - 1e-6] {
    swing(e) = ode((t, y) -> stack(y[1], -y[0]), [0.0, 1.0], (0.0, 10.0); events = e, method = m, rtol = 1e-10, atol = 1e-12)
    a = asin(c)
    at = swing(event((t, y) -> y[0] - c)).events.times
    assert(len(at) == 4, "{m.name}, {c}: {at}")
    # Near the maximum, times are accurate to a square root of the tolerance.
    assert(max(abs(at - [a, π - a, 2π + a, 3π - a])) < 1e-8/sqrt(1 - c), "{m.name}, {c}: {at}")
    assert(abs(swing(event((t, y) -> y[0] - c; terminal = true)).times[-1] - a) < 1e-8/sqrt(1 - c), "{m.name}, {c}")
    assert(len(swing(event((t, y) -> y[0] - c; direction = "falling")).events.times) == 2, "{m.name}, {c}, falling")
    assert(len(swing(event((t, y) -> y[0] - 1.0000001)).events.times) == 0, "{m.name}: above the top")
  }
}
(c -> ode((t, y) -> stack(y[1], -y[0]), [0.0, 1.0], (0.0, 10.0); events = event((t, y) -> y[0] - c), method = dop853(), rtol = 1e-12, atol = 1e-13).events.times[2])'(0.9999)    #~ 1/sqrt(1 - 0.9999^2) tol 1e-6
