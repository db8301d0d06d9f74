# Integrations whose end, start or output times are exactly where a rate
# switches. The last stage of a step is at its end and the first at its
# beginning; neither may see the other side of the switch.
# In a long check only: it takes half a minute.
# As users run it only: compiling all of it takes minutes.
pulse(t) = if t < 0.66 { 0.0 } else if t < 0.6605 { 2000.0 } else { 0.0 }
# the same pulse, with the other value at the switches themselves
later(t) = if t <= 0.66 { 0.0 } else if t <= 0.6605 { 2000.0 } else { 0.0 }
right(t) = clamp(2000 * (t - 0.66), 0.0, 1.0)
at = [0.3, 0.66, 0.6602, 0.6605, 0.7]
is_near(name, got, wanted) = {
  e = max(abs(got - wanted))
  assert(e < 1e-5, "{name}: {got}, off by {e}")
}

for m in list(rk4(0.01), euler(0.01), tsit5(), dop853(), bdf(), adams(), radau5(), radau9(), rodas5p(), auto()) {
  for f in list((t, y) -> [pulse(t)], (t, y) -> [later(t)]) {
    is_near("{m.name} to the first", ode(f, [0.0], (0.0, 0.66); method = m).values[-1, 0], 0.0)
    is_near("{m.name} to the second", ode(f, [0.0], (0.0, 0.6605); method = m).values[-1, 0], 1.0)
    is_near("{m.name} from the first", ode(f, [0.0], (0.66, 1.0); method = m).values[-1, 0], 1.0)
    is_near("{m.name} from the second", ode(f, [1.0], (0.6605, 1.0); method = m).values[-1, 0], 1.0)
    is_near("{m.name} backwards", ode(f, [1.0], (1.0, 0.66); method = m).values[-1, 0], 0.0)
    is_near("{m.name} asked", ode(f, [0.0], (0.0, 1.0); method = m, saveat = at).values[.., 0], right(at))
    s = ode(f, [0.0], (0.0, 1.0); method = m)
    is_near("{m.name} between its steps", [s.y(t)[0] for t in at], right(at))
  }
}

# with events, after which the integration restarts
with_event(f, y1, span, m, saveat) =
  ode((t, y) -> [f(t), 1.0], [0.0, y1], span; method = m, saveat = saveat, events = event((t, y) -> y[1]))
for m in list(rk4(0.01), tsit5(), bdf(), radau5()) {
  for f in list(pulse, later) {
    s = with_event(f, -2.0, (0.0, 0.66), m, [])
    is_near("{m.name}, an event, to the first", s.values[-1, 0], 0.0)
    assert(s.times[0] == 0.0 and s.times[-1] == 0.66, "{m.name}: {s.times}")
    is_near("{m.name}, an event, to the second", with_event(f, -0.5, (0.0, 0.6605), m, []).values[-1, 0], 1.0)
    is_near("{m.name}, an event, from the second", with_event(f, -0.5, (0.6605, 1.0), m, []).values[-1, 0], 0.0)
    is_near("{m.name}, an event, asked", with_event(f, -0.5, (0.0, 1.0), m, at).values[.., 0], right(at))
    is_near("{m.name}, an event at the first", with_event(f, -0.66, (0.0, 1.0), m, []).events.times, [0.66])
  }
}

# with lags
for m in list(rk4(0.01), tsit5(), bdf(), radau5()) {
  for f in list(pulse, later) {
    to(t1, shift, saveat) =
      dde((t, y, Z) -> [f(t - shift), 1.0], [0.0, 0.0], (0.0, t1); lags = 0.1, method = m, saveat = saveat).values[.., 0]
    is_near("{m.name}, a lag, to the first", to(0.66, 0.0, [])[-1], 0.0)
    is_near("{m.name}, a lag, to the second", to(0.6605, 0.0, [])[-1], 1.0)
    is_near("{m.name}, a lag, asked", to(1.0, 0.0, at), right(at))
    is_near("{m.name}, a lag, later", to(0.76, 0.1, [])[-1], 0.0)
  }
}

# partial differential equations
problem rod {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == 0.01 * u_xx + pulse(t)
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == 0 at x = 1
}
problem ring {
  domain t in [0, 1], x in [0, 1] periodic
  field u
  u_t + u_x == pulse(t)
  u == 0 at t = 0
}
xs = [0.3, 0.7]
on_switches(name, p, m) = {
  is_near("{name} by {m.name} to the first", solve(p, m; t = (0, 0.66), estimate = false).u(0.66, xs), 0.0)
  s = solve(p, m; saveat = at, estimate = false)
  for t in at { is_near("{name} by {m.name} at {t}", s.u(t, xs), right(t)) }
  # between the times that a solution stores, one of which is 0.66
  s = solve(p, m; estimate = false)
  for t in [0.6602, 0.6667, 0.672] { is_near("{name} by {m.name} between its times, at {t}", s.u(t, xs), right(t)) }
}
for m in list(fd(n = 21), fd(n = 21, time = rk4(0.01)), chebyshev(12), fem(0.1), fv(n = 20), fv(n = 20, steps = "euler")) {
  on_switches("rod", rod, m)
}
for m in list(fd(n = 24), fourier(16), fourier(16, time = cnab2(0.01)), fourier(16, time = etdrk4(0.01)),
  fourier(16, time = rk4(0.01)), fv(n = 20), fv(n = 20, reconstruct = "weno5")) { on_switches("ring", ring, m) }
