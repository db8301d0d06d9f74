# Loads and pulses given by tables: every method is right to within its
# estimate, or refuses and states the location.
# In a long check only: it takes half a minute.

# a pulse of area 1 and half-width w at `at`, in a table from a to b
pulse(at, w, a, b) = ([a, at - w, at, at + w, b], [0.0, 0, 1/w, 0, 0])

problem rod(xs, ys) {
  domain x in [0, 1]
  field u
  -u_xx == interp(x, xs, ys)
  u == 0 at x = 0, x = 1
}
problem heated(ts, ys) {
  domain t in [0, 100], x in [0, 1]
  field u
  u_t == u_xx + interp(t, ts, ys)
  u == 0 at t = 0
  u_x == 0 at x = 0, x = 1
}
# A local source that heats the whole: the mean is t.
problem spotted(xs, ys) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == 10u_xx + interp(x, xs, ys)
  u == 0 at t = 0
  u_x == 0 at x = 0, x = 1
}
count = [0, 0]
for k in 0..5 {
  w = 0.1*10.0^(-0.8k)
  at = 0.15 + 0.7*((k*0.618) % 1)
  (xs, ys) = pulse(at, min(w, 0.1), 0.0, 1)
  for m in (fd(), fd(n = 41), chebyshev(), chebyshev(24), fem(0.1), fem(0.05, order = 2), collocation(), shooting(), rfm()) {
    try {
      s = solve(rod(xs, ys), m)
      x = 0.9
      e = abs(s.u(x)/(at*(1 - x)) - 1)
      said = if kind(s.error) == "none" { 1e-5 } else { s.error }
      assert(e < 10said + 1e-5, "WRONG rod by {m.name}, {w} at {at}: {e}, {said} said")
      count += [1, 0]
    } catch e {
      by_places = m.name == "fem" or m.name == "collocation" or m.name == "shooting"
      assert(not contains(e, "WRONG") and not by_places, "{m.name}: {e}")
      count += [0, 1]
    }
  }
  (ts, ys) = pulse(100at, 100w, 0.0, 100)
  for m in (fd(), fd(n = 21, order = 2), chebyshev(12), fem(0.1), fv(n = 20)) {
    s = solve(heated(ts, ys), m)
    e = abs(s.u(100.0, 0.3) - 1)
    assert(e < 1e-4, "heated by {m.name}, {w} at {at}: {e}, {s.error} said")
  }
  (xs, ys) = pulse(at, w, 0.0, 1)
  for m in (fd(n = 41), chebyshev(24), fem(0.1), fv(n = 50)) {
    try {
      s = solve(spotted(xs, ys), m)
      mean = integrate(x -> s.u(1.0, x), 0, 1; rtol = 1e-4)
      assert(abs(mean - 1) < 10s.error + 1e-3, "WRONG spotted by {m.name}, {w} at {at}: {mean}, {s.error} said")
      count += [1, 0]
    } catch e {
      assert(not contains(e, "WRONG"), e)
      count += [0, 1]
    }
  }
}
# most are solved
count[0] > 25                 #> true

# A smooth table with many knots does not restart the integration at each of
# them.
hours = linspace(0.0, 100, 1001)
problem slow {
  domain t in [0, 100], x in [0, 1]
  field u
  u_t == u_xx + interp(t, hours, sin(0.1hours))
  u == 0 at t = 0
  u_x == 0 at x = 0, x = 1
}
s = solve(slow, fd(n = 21));
s.stats.steps < 1500          #> true
s.u(100.0, 0.5)               #~ 10*(1 - cos(10)) tol 1e-3

# ---- densities of the library, which jump at the ends of their support

problem loaded(d) {
  domain x in [0, 1]
  field u
  -u_xx == pdf(d, x)
  u == 0 at x = 0, x = 1
}
for k in 0..6 {
  w = 0.2*10.0^(-k)
  a = 0.1 + 0.7*((k*0.618) % 1)
  for m in (fd(n = 101), chebyshev(24), fem(0.1), collocation(), shooting()) {
    by_places = m.name == "fem" or m.name == "collocation" or m.name == "shooting"
    said = ""
    try {
      s = solve(loaded(Uniform(a, a + w)), m)
      e = abs(s.u(0.95)/((a + 0.5w)*0.05) - 1)
      said = if e < 10*(if kind(s.error) == "none" { 1e-5 } else { s.error }) + 1e-5 { "" } else { "{e}, {s.error} said" }
    } catch e { said = if by_places { e } else { "" } }
    assert(said == "", "{m.name}, {w} at {a}: {said}")
  }
}
