# Pulses in tables, of any width and at any time: no method steps over them.
# Oracle: the integrals of the tables, by the trapezium rule.
# In a long check only: it takes half a minute.

area(ts, ys) = 0.5*sum((ts[1..] - ts[..-1])*(ys[1..] + ys[..-1]))
# a pulse of area 1 and half-width w
pulse(at, w) = ([0.0, at - w, at, at + w, 100], [0.0, 0, 1/w, 0, 0])

for k in 0..12 {
  w = 10.0^(-0.5k)
  (ts, ys) = pulse(7 + 77*((k*0.618) % 1), w)
  for m in (auto(), tsit5(), dop853(), bdf(), adams(), radau5(), rodas5p()) {
    s = ode((t, y) -> stack(interp(t, ts, ys) - 0*y[0], t*interp(t, ts, ys) - 0*y[0]), [0.0, 0], (0.0, 100.0); method = m)
    e = max(abs(s.y(100.0)/stack(1, ts[2]) - 1))
    assert(e < 1e-4, "{m.name}, {w}: {e}")
  }
  # The same backward in time, with an affine argument of the table, as an
  # integral, and with a lag.
  back = ode((t, y) -> stack(interp(t, ts, ys) + 0*y[0]), [1.0], (100.0, 0.0))
  assert(abs(back.y(0.0)[0]) < 1e-4, "back, {w}: {back.y(0.0)}")
  fast = ode((t, y) -> stack(interp(1000t + 3, ts, ys) + 0*y[0]), [0.0], (0.0, 0.09))
  assert(abs(fast.y(0.09)[0] - 1e-3) < 1e-7, "fast, {w}: {fast.y(0.09)}")
  v = integrate(t -> interp(t, ts, ys), 0, 100; rtol = 1e-6)
  assert(abs(v - 1) < 1e-6, "integrate, {w}: {v}")
  d = dde((t, y, yd) -> stack(interp(t, ts, ys) + 0*y[0]), [0.0], (0.0, 100.0); lags = (50.0,))
  assert(abs(d.y(100.0)[0] - 1) < 1e-4, "dde, {w}: {d.y(100.0)}")
}
# other kinds of tables
(ts, ys) = pulse(41.3, 0.01)
shapes = (pchip(ts, ys), akima(concat([-1.0], ts, [101]), concat([0.0], ys, [0])))
for p in shapes {
  s = ode((t, y) -> stack(p.value(t) + 0*y[0]), [0.0], (0.0, 100.0); method = dop853(), rtol = 1e-9)
  assert(abs(s.y(100.0)[0]/p.integral(0.0, 100.0) - 1) < 1e-6, "{s.y(100.0)} is not {p.integral(0.0, 100.0)}")
}
# Step functions: an entry holds until the next one.
step_at(t) = [0.0, 20, 0][searchsorted([0.0, 41, 41.05], t) - 1]
for m in (tsit5(), dop853(), bdf(), radau5()) {
  s = ode((t, y) -> stack(step_at(t) + 0*y[0]), [0.0], (0.0, 100.0); method = m)
  assert(abs(s.y(100.0)[0] - 1) < 1e-4, "{m.name}: {s.y(100.0)}")
}
# every day at the same hour, for 30 days
hours = [0.0, 7.4, 7.5, 7.6, 24]
s = ode((t, y) -> stack(interp(t % 24, hours, [0.0, 0, 10, 0, 0]) + 0*y[0]), [0.0], (0.0, 720.0));
s.y(720.0)[0]                 #~ 30 tol 1e-3
# A table that is never read out of bounds on the way must not be read there by
# the search.
s = ode((t, y) -> stack([1.0, 2, 3][i64(t)] + 0*y[0]), [0.0], (0.0, 2.99));
s.y(2.99)[0]                  #~ 1 + 2 + 3*0.99 tol 1e-5

# noise: sri() must not step over a pulse
for k in 0..4 {
  (ts, ys) = pulse(23.7 + 11k, 0.02)
  s = sde((t, x) -> stack(interp(t, ts, ys) + 0*x[0]), (t, x) -> 0*x, [0.0], (0.0, 100.0); seed = k)
  assert(abs(s.values[-1][0] - 1) < 0.01, "{k}: {s.values[-1]}")
  s = sde((t, x) -> stack(exp(-((t - 23.7 - 11k)/0.02)^2)/(0.02*sqrt(π)) + 0*x[0]), (t, x) -> 0*x, [0.0], (0.0, 100.0); seed = k)
  assert(abs(s.values[-1][0] - 1) < 0.01, "{k}: {s.values[-1]}")
  s = sde((t, x) -> stack((if t > 23.7 + 11k and t < 23.72 + 11k { 50.0 } else { 0.0 }) + 0*x[0]), (t, x) -> 0*x, [0.0], (0.0, 100.0); seed = k)
  assert(abs(s.values[-1][0] - 1) < 0.02, "{k}: {s.values[-1]}")
  # in the noise, where squares accumulate
  s = sde((t, x) -> 0*x, (t, x) -> stack(sqrt(interp(t, ts, ys)) + 0*x[0]), [0.0], (0.0, 100.0); seed = k)
  assert(abs(s.values[-1][0]) > 1e-3, "{k}: {s.values[-1]}")
}

# A beam between two ends, loaded at one point: -u'' = a pulse of area 1 at x =
# 41.3 %.
(ts, ys) = pulse(41.3, 0.01)
for m in (collocation(), shooting()) {
  s = bvp((x, y) -> stack(y[1], -interp(100x, ts, 100ys)), (a, b) -> stack(a[0], b[0]), (0.0, 1.0), [0.0, 0]; method = m)
  assert(abs(s.y(0.7)[0] - 0.413*0.3) < 1e-6, "{m.name}: {s.y(0.7)}")
}

# Tables read by an index, without and with interpolation between rows; noise,
# which must be integrated in full.
rows = where(iota(20000) == 8234, 1000.0, 0.0)
for m in (auto(), dop853(), bdf(), radau5()) {
  s = ode((t, y) -> stack(rows[i64(t*1000)] + 0*y[0]), [0.0], (0.0, 19.99); method = m)
  assert(abs(s.y(19.99)[0] - 1) < 1e-4, "{m.name}: {s.y(19.99)}")
}
few = where(iota(1000) == 412, 1.0, 0.0)
s = ode((t, y) -> { k = min(i64(t/0.1), 998); w = t/0.1 - k; stack(few[k] + w*(few[k + 1] - few[k]) + 0*y[0]) }, [0.0], (0.0, 99.0));
s.y(99.0)[0]                  #~ 0.1 tol 1e-5
knots = linspace(0.0, 10, 2001)
noise = sin(1e4*knots^2)
s = ode((t, y) -> stack(interp(t, knots, noise) + 0*y[0]), [0.0], (0.0, 10.0));
# There are about 2000 steps, each with a relative error of up to a millionth.
s.y(10.0)[0]                  #~ area(knots, noise) tol 1e-4
integrate(t -> interp(t, knots, noise), 0, 10)    #~ area(knots, noise) tol 1e-9
