# A switch, a pulse or a table close to t = 0 of a very long interval (up to
# 1e10): it is found at its own scale, whatever the end time. A smooth pulse may
# also end inside the first of the equal parts of the interval that are searched
# for pulses.
# In a long check only: it takes half a minute.
# As users run it only: compiling all of it takes minutes.
is_near(name, got, wanted, allowed) = {
  e = abs(got - wanted)
  assert(e <= allowed, "{name}: {got}, off by {e}")
}
first(w) = t -> if t < w { 1/w } else { 0.0 }
later(w) = t -> if t > w and t < 2w { 1/w } else { 0.0 }
knots(w, T) = t -> interp(t, [0.0, w, 1.5w, 2w, 2.0, T], [0.0, 0.0, 2/w, 0.0, 0.0, 0.0])
bell(w) = t -> exp(-((t - 3w)/w)^2)/(w*sqrt(π))

for T in list(1e3, 4e10) {
  for w in list(1.0, 1e-5) {
    for f in list(first(w), later(w), knots(w, T)) {
      is_near("an integral to {T}", integrate(f, 0, T), 1.0, 1e-12)
      is_near("an integral from {T}", integrate(f, T, 0), -1.0, 1e-12)
      # The rows are exact. A BDF step has an error of rtol = 1e-6, and some of
      # these accumulate.
      for m in list(tsit5(), dop853(), bdf(), adams(), radau5(), radau9(), rodas5p(), auto()) {
        name = "{m.name}, {w} of {T}"
        is_near(name, ode((t, y) -> [f(t)], [0.0], (0.0, T); method = m).values[-1, 0], 1.0, 1e-5)
        is_near("{name}, backwards", ode((t, y) -> [-f(-t)], [0.0], (0.0, -T); method = m).values[-1, 0], 1.0, 1e-5)
      }
      for m in list(tsit5(), bdf()) {
        s = ode((t, y) -> [f(t), 1.0], [0.0, -0.7w], (0.0, T); method = m, events = event((t, y) -> y[1]))
        is_near("{m.name}, an event, {w} of {T}", s.values[-1, 0], 1.0, 1e-5)
        # The first piece begins after 0, at 1e-10 of the distance to the
        # switch.
        is_near("{m.name}, the event itself", s.events.times[0], 0.7w, 2e-10w)
      }
    }
    is_near("an integral to infinity", integrate(first(w), 0, inf), 1.0, 1e-12)
    is_near("its end", grad(w -> integrate(t -> if t < w { 2.0 } else { 0.0 }, 0, T))(w), 2.0, 1e-12)
    # a pulse of constant area
    is_near("both ends", w * grad(w -> integrate(t -> if t > w and t < 2w { t/w^2 } else { 0.0 }, 0, T))(w), 0.0, 1e-11)
    lagged = dde((t, y, Z) -> [first(w)(t)], [0.0], (0.0, T); lags = 0.1T)
    is_near("dde, {w} of {T}", lagged.values[-1, 0], 1.0, 1e-5)
  }
}

# no comparison, no table
for (c, T) in ((1e-3, 1.0), (1e-5, 1.0), (1e-8, 1.0), (1e-3, 1e6)) {
  (w, f) = (c/3, bell(c/3))
  for m in list(tsit5(), dop853(), bdf(), adams(), radau5(), rodas5p(), auto(), rk4(0.01T)) {
    s = ode((t, y) -> [f(t)], [0.0], (0.0, T); method = m)
    # 2e-5 of the bell's area is before 0.
    is_near("{m.name}, a bell at {c} of {T}", s.values[-1, 0], 0.5 + 0.5 * erf(3.0), 3e-5)
  }
}

problem rod(T, f) {
  domain t in [0, T], x in [0, 1]
  field u
  u_t == 0.01 * u_xx + f(t)
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == 0 at x = 1
}
problem ring(T, f) {
  domain t in [0, T], x in [0, 1] periodic
  field u
  u_t + 0.01 * u_x == 0.01 * u_xx + f(t)
  u == 0 at t = 0
}
for m in list(fd(n = 21), chebyshev(12), fem(0.1), fv(n = 20)) {
  for (T, w) in ((1e4, 1.0), (1e8, 1.0), (1e4, 1e-5)) {
    is_near("{m.name}, {w} of {T}", solve(rod(T, first(w)), m; estimate = false).u(T, 0.5), 1.0, 1e-5)
    is_near("{m.name}, later", solve(rod(T, later(w)), m; estimate = false).u(T, 0.5), 1.0, 1e-5)
  }
}
for m in list(fourier(16), fourier(16, time = cnab2(0.1)), fourier(16, time = etdrk4(0.1)), fd(n = 24)) {
  is_near("{m.name} of a ring", solve(ring(1e2, first(1e-8)), m; estimate = false).u(1e2, 0.5), 1.0, 1e-5)
}
# steps of second order, and their error estimates
is_told(p, m) = {
  s = solve(p, m)
  e = abs(s.u(1.0, 0.5) - (0.5 + 0.5 * erf(3.0)))
  assert(e <= 3 * s.error + 1e-6 and e < 2e-3, "{m.name}: off by {e}, said {s.error}")
}
for m in list(fd(n = 21), fem(0.1), fv(n = 20)) { is_told(rod(1.0, bell(1e-8)), m) }
for m in list(fd(n = 21), fv(n = 20)) { is_told(ring(1.0, bell(1e-8)), m) }
