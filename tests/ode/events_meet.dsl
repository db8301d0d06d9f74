# Events at which the right-hand side itself has a jump or a kink, several
# events at one time, and events at the end time. Derivatives against closed
# forms.

tight(f, y0, t1, m, events) = ode(f, y0, (0.0, t1); method = m, rtol = 1e-10, atol = 1e-12, events = events)
on(m, f, wanted, p, tol) = {
  e = max(abs(grad(f)(p) - grad(wanted)(p)))
  assert(e < tol, "{m.name}: slopes off by {e}")
}

# A jump at the event itself, by the same comparison: p[0] is the location, p[1]
# and p[2] are the rates on both sides.
valve(p, m) = tight((t, y) -> [(if y[0] < p[0] { p[1] } else { p[2] }) * y[0]], [1.0], 1.5, m,
  event((t, y) -> y[0] - p[0]; direction = "rising", then = (t, y) -> y)).values[-1, 0]
valve_exact(p) = p[0] * exp(p[2] * (1.5 - log(p[0]) / p[1]))
# A kink there: the steps do not notice it, but the derivatives of the solution
# are not smooth.
bend(p, m) = tight((t, y) -> [1.0 + p[1] * max(y[0] - p[0], 0.0)], [0.0], 2.0, m,
  event((t, y) -> y[0] - p[0]; direction = "rising", then = (t, y) -> y)).values[-1, 0]
bend_exact(p) = p[0] + (exp(p[1] * (2 - p[0])) - 1) / p[1]
for m in list(dop853(), bdf(), radau5(), rodas5p(), tsit5()) {
  on(m, p -> valve(p, m), valve_exact, [2.0, 1.0, 0.3], 2e-8)
  on(m, p -> bend(p, m), bend_exact, [1.1, 1.5], 2e-7)
}
hessian(p -> valve(p, dop853()))([2.0, 1.0, 0.3])    #~ hessian(valve_exact)([2.0, 1.0, 0.3]) tol 1e-7
hessian(p -> bend(p, radau5()))([1.1, 1.5])          #~ hessian(bend_exact)([1.1, 1.5]) tol 1e-6
# Fixed steps do not cross the jump while they locate it, so the order stays 4.
given(p, h) = ode((t, y) -> [(if y[0] < p[0] { p[1] } else { p[2] }) * y[0]], [1.0], (0.0, 1.5); method = rk4(h),
  events = event((t, y) -> y[0] - p[0]; then = (t, y) -> y))
given([2.0, 1.0, 0.3], 0.05).events.times[0]               #~ log(2.0) tol 1e-7
given([2.0, 1.0, 0.3], 0.025).events.times[0]              #~ log(2.0) tol 5e-9
given([2.0, 1.0, 0.3], 0.05).values[-1, 0]                 #~ valve_exact([2.0, 1.0, 0.3]) tol 1e-7
grad(p -> given(p, 0.05).values[-1, 0])([2.0, 1.0, 0.3])   #~ grad(valve_exact)([2.0, 1.0, 0.3]) tol 1e-6
problem tank(c = 1.0) {
  domain t in [0, 2]
  field p
  p_t == if p < c { 1.0 } else { 0.1 }
  p == 0 at t = 0
  event opens: p == c rising {}
}
grad(c -> solve(tank(c), bdf()).p(2.0))(1.0)         #~ 0.9 tol 1e-9

# Two events at one time. Independent events each have their own derivatives.
fallen(h) = { s = sqrt(2 * h); 0.5 * s * (2 - s) - (2 - s)^2 / 2 }
balls(h, m) = tight((t, y) -> [y[1], -1.0, y[3], -1.0], [h[0], 0.0, h[1], 0.0], 2.0, m, list(
  event((t, y) -> y[0]; direction = "falling", then = (t, y) -> [y[0], -0.5 * y[1], y[2], y[3]]),
  event((t, y) -> y[2]; direction = "falling", then = (t, y) -> [y[0], y[1], y[2], -0.5 * y[3]]))).values[-1][[0, 2]]
valves(c, m) = tight((t, y) -> [1.0, 2.0, (if y[0] < c[0] { 0.0 } else { 3.0 }) + (if y[1] < c[1] { 0.0 } else { 5.0 })], zeros(3), 2.0, m,
  list(event((t, y) -> y[0] - c[0]; then = (t, y) -> y), event((t, y) -> y[1] - c[1]; then = (t, y) -> y))).values[-1, 2]
for m in list(dop853(), bdf()) {
  J = jacobian(h -> balls(h, m))([1.0, 1.0])
  assert(max(abs(J - grad(fallen)(1.0) * eye(2))) < 1e-8, "{m.name}: {J}")
  v = grad(c -> valves(c, m))([1.0, 2.0])
  assert(max(abs(v - [-3.0, -2.5])) < 1e-8, "{m.name}: {v}")
}
# Two events of the same function act one after the other.
twice(h) = tight((t, y) -> [y[1], -1.0, y[2]], [h, 0.0, 1.0], 2.0, dop853(), list(
  event((t, y) -> y[0]; direction = "falling", then = (t, y) -> [y[0], -0.5 * y[1], y[2]]),
  event((t, y) -> y[0]; direction = "falling", then = (t, y) -> [y[0], y[1], 2 * y[2]]))).values[-1]
twice(1.0)                       #~ [fallen(1.0), 1.5*sqrt(2) - 2, 2*exp(2)] tol 1e-8
jvp(twice, 1.0, 1.0)[1]          #~ [grad(fallen)(1.0), 0.75*sqrt(2), 0] tol 1e-7

# At the end time: every method finds the event to rounding, and nothing follows
# it.
for m in list(dop853(), tsit5(), bdf(), adams(), auto(), radau5(), rodas5p(), rk4(0.1)) {
  ends(p) = ode((t, y) -> [1.0, 2.0], [0.0, 0.0], (0.0, p[1]); method = m, events = event((t, y) -> y[0] - p[0]; then = (t, y) -> [y[0], y[1] + 5]))
  s = ends([1.0, 1.0])
  assert(len(s.events.times) == 1 and s.times[-1] == 1.0, "{m.name}: {s.events.times}")
  assert(max(abs(s.values[-1] - [1.0, 2.0])) < 1e-12, "{m.name}: {s.values[-1]}")
  assert(max(abs(s.events.after[0] - [1.0, 7.0])) < 1e-12, "{m.name}: {s.events.after}")
}
final(p) = tight((t, y) -> [1.0, y[0]], [0.0, 1.0], p[1], dop853(), event((t, y) -> y[0] - p[0]; then = (t, y) -> [y[0], 3 * y[1]])).values[-1]
jacobian(final)([1.0, 1.0])      #~ [[0, 1], [0, 1]] tol 1e-9
jacobian(final)([0.5, 1.0])      #~ [[0, 1], [1, 1]] tol 1e-9
