# Narrow smooth pulses in time and loads in space: like those made of
# comparisons, they are integrated in full or refused.
# In a long check only: it takes half a minute.

pulse(t, w) = exp(-((t - 0.41)/w)^2)/(w*sqrt(π))
problem source(w) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == 0.3u_xx + pulse(t, w)
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == 0 at x = 1
}
# a pulse that is no product with a function of t alone
problem joint(w) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == 0.3u_xx + exp(-((t - 0.41)/w)^2 - (x - 0.3)^2)/(w*sqrt(π))
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == 0 at x = 1
}
problem ring(w) {
  domain t in [0, 1], x in [0, 2π] periodic
  field u
  u_t == 0.1u_xx + pulse(t, w)*sin(x)
  u == 0 at t = 0
}
problem quick(w) {
  domain t in [0, 1], x in [0, π]
  field u
  u_t == pulse(t, w)*u_xx
  u == sin(x) at t = 0
  u == 0 at x = 0
  u == 0 at x = π
}
problem wall(w) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == pulse(t, w) at x = 1
}
# an algebraic unknown: v = u
problem held(w) {
  domain t in [0, 1], x in [0, 1]
  field u, v
  u_t == u_xx + pulse(t, w)
  0 == v_xx - v + u
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == 0 at x = 1
  v_x == 0 at x = 0
  v_x == 0 at x = 1
}
problem swing(w) {
  domain t in [0, 1]
  field u
  u_tt == pulse(t, w)
  u == 0 at t = 0
  u_t == 0 at t = 0
}
# The mean over x, after the heat has spread.
over_x = mean(exp(-(linspace(0.0, 1, 2001) - 0.3)^2))
for w in [0.01, 1e-3] {
  for m in (fd(n = 21), chebyshev(10), fem(0.1), fv(n = 20)) {
    s = solve(source(w), m; estimate = true)
    off = abs(s.u(1.0, 0.5) - 1)
    assert(off < max(3*s.error, 2e-5), "source {m.name} {w}: {off} {s.error}")
    s = solve(joint(w), m; estimate = true)
    off = abs(s.u(1.0, 0.5) - over_x)
    # The first mode is still present: 0.02*exp(-0.3π²*0.59).
    assert(off < 0.006, "joint {m.name} {w}: {off} {s.error}")
    s = solve(wall(w), m; estimate = true)
    off = abs(s.u(1.0, 0.5) - 1)
    assert(off < 3*s.error + 2e-4, "wall {m.name} {w}: {off} {s.error}")
  }
  for m in (fourier(16), fourier(16, time = cnab2(0.2w)), fd(n = 32), fv(n = 32)) {
    s = solve(ring(w), m; estimate = true)
    off = abs(s.u(1.0, π/2)/exp(-0.1*0.59 + (0.1w)^2/4) - 1)
    assert(off < 3*s.error + 2e-5, "ring {m.name} {w}: {off} {s.error}")
  }
  for m in (fd(n = 41), chebyshev(16), fem(0.1)) {
    s = solve(quick(w), m; estimate = true)
    off = abs(s.u(1.0, π/2)/exp(-1) - 1)
    assert(off < 3*s.error + 2e-5, "quick {m.name} {w}: {off} {s.error}")
  }
  for m in (fd(n = 21), fem(0.1)) {
    s = solve(held(w), m)
    assert(abs(s.v(1.0, 0.5) - 1) < 5e-5, "held {m.name} {w}: {s.v(1.0, 0.5)}")
  }
  for m in (auto(), bdf(), tsit5(), radau5()) {
    s = solve(swing(w), m)
    assert(abs(s.u(1.0) - 0.59) < 5e-5, "swing {m.name} {w}: {s.u(1.0)}")
  }
}

# Pulses that take a fifth of the time or more: before them, rates are as small
# as before narrow ones.
late(t, c, w) = exp(-((t - c)/w)^2)/(w*sqrt(π))
problem warmed(c, w) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == 0.3u_xx + late(t, c, w)
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == 0 at x = 1
}
problem fed(c, w) {
  domain t in [0, 1]
  field u
  u_t == late(t, c, w)
  u == 0 at t = 0
}
for (c, w) in [0.5, 0.1; 0.5, 0.05; 0.77, 0.05; 0.5, 0.03; 0.77, 0.03; 0.83, 0.02] {
  for m in (fd(n = 11), chebyshev(6), fem(0.2)) {
    s = solve(warmed(c, w), m)
    assert(abs(s.u(1.0, 0.5) - 1) < 1e-4, "warmed {m.name} {c} {w}: {s.u(1.0, 0.5)}")
  }
  for m in (auto(), bdf(), tsit5(), dop853(), radau5(), rodas5p(), adams()) {
    s = solve(fed(c, w), m)
    assert(abs(s.u(1.0) - 1) < 2e-5, "fed {m.name} {c} {w}: {s.u(1.0)}")
    y = ode((t, y) -> [late(t, c, w)], [0.0], (0.0, 1.0); method = m).y(1.0)[0]
    assert(abs(y - 1) < 2e-5, "ode {m.name} {c} {w}: {y}")
  }
}

# A source that moves through a grid with wider cells. The mean over equally
# weighted points differs from the integral, 1, by 3e-4.
problem moving(w) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == 0.1u_xx + exp(-((x - 0.1 - 0.8t)/w)^2)/(w*sqrt(π))
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == 0 at x = 1
}
problem boxy(w) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == 0.1u_xx + (if abs(x - 0.1 - 0.8t) < w { 0.5/w } else { 0.0 })
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == 0 at x = 1
}
for w in [0.01, 0.003] {
  for (name, p) in (("moving", moving(w)), ("boxy", boxy(w))) {
    for m in (fd(n = 41), chebyshev(24), fem(0.1)) {
      s = solve(p, m; estimate = true, partial = true)
      off = abs(mean(s.u(1.0, linspace(0.0, 1, 401))) - 1)
      assert(off < max(3*s.error, 5e-4), "{name} {m.name} {w}: {off} {s.error}")
    }
  }
}

# ---- in space: the integral of -u'' near x = 0.37 is 1
problem load(w) {
  domain x in [0, 1]
  field u
  -u_xx == exp(-((x - 0.37)/w)^2)/(w*sqrt(π))
  u == 0 at x = 0
  u == 0 at x = 1
}
problem layer(w) {
  domain x in [0, 1]
  field u
  -u_xx + 3*exp(-((x - 0.37)/w)^2)/(w*sqrt(π))*u == 0
  u == 0 at x = 0
  u == 1 at x = 1
}
# The limit w = 0: a kink at 0.37, where the derivative changes by 3u.
limit(x) = 0.37/(1 + 3*0.37*0.63) + (x - 0.37)/0.63*(1 - 0.37/(1 + 3*0.37*0.63))
for w in [0.01, 0.003, 1e-3, 3e-4] {
  for m in (collocation(), shooting(), fem(0.1)) {
    s = solve(load(w), m; estimate = true)
    off = abs(s.u(0.7)/0.111 - 1)
    assert(off < 3*s.error + 1e-6, "load {m.name} {w}: {off} {s.error}")
    s = solve(layer(w), m; estimate = true)
    off = abs(s.u(0.7)/limit(0.7) - 1)
    assert(off < 3*s.error + 0.2w, "layer {m.name} {w}: {off} {s.error}")
  }
}
bvp((t, y) -> [y[1], -exp(-((t - 0.37)/1e-3)^2)/(1e-3*sqrt(π))], (a, b) -> [a[0], b[0]], (0.0, 1.0), [0.0, 0.0]).y(0.7)[0]    #~ 0.111 tol 1e-6
# Elements end where the load vanishes, and are a fraction of its width, so that
# the load counts in full.
problem anywhere(c, w) {
  domain x in [0, 1]
  field u
  -u_xx == exp(-((x - c)/w)^2)/(w*sqrt(π))
  u == 0 at x = 0
  u == 0 at x = 1
}
for c in [0.31, 0.45, 0.5003] {
  for w in [0.01, 1e-3, 5e-4] {
    for order in (1, 2) {
      s = solve(anywhere(c, w), fem(0.1, order = order); estimate = true)
      off = abs(s.u(0.8)/(0.2c) - 1)
      assert(off < 3*s.error, "anywhere {c} {w} {order}: {off} {s.error}")
      assert(off < (if order == 1 { 1e-4 } else { 1e-6 }), "anywhere {c} {w} {order}: {off}")
    }
  }
}
