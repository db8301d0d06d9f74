# Sources, conditions and coefficients that act for a short time: every method
# integrates them in full.
# In a long check only: it takes half a minute.
# As users run it only: compiling all of it takes minutes.

problem source(w) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == 0.3u_xx + (if t > 0.41 and t < 0.41 + w { 1/w } else { 0.0 })
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == 0 at x = 1
}
problem wall(w) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == (if t > 0.11 and t < 0.11 + w { 1/w } else { 0.0 }) at x = 1
}
problem ring(w) {
  domain t in [0, 1], x in [0, 2π] periodic
  field u
  u_t == 0.1u_xx + (if t > 0.41 and t < 0.41 + w { sin(x)/w } else { 0.0 })
  u == 0 at t = 0
}
# a rate that is 1000 times as large for a thousandth of the time
problem quick(w) {
  domain t in [0, 1], x in [0, π]
  field u
  u_t == (if t > 0.5 and t < 0.5 + w { 1/w } else { 0.0 })*u_xx
  u == sin(x) at t = 0
  u == 0 at x = 0
  u == 0 at x = π
}
problem square(w) {
  domain t in [0, 1], x in [0, 1], y in [0, 1]
  field u
  u_t == u_xx + u_yy + (if t > 0.41 and t < 0.41 + w { 1/w } else { 0.0 })
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == 0 at x = 1
  u_y == 0 at y = 0
  u_y == 0 at y = 1
}
# an algebraic unknown: v = u
problem held(w) {
  domain t in [0, 1], x in [0, 1]
  field u, v
  u_t == u_xx + (if t > 0.41 and t < 0.41 + w { 1/w } else { 0.0 })
  0 == v_xx - v + u
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == 0 at x = 1
  v_x == 0 at x = 0
  v_x == 0 at x = 1
}
grids = (fd(n = 21), chebyshev(10), fem(0.1), fv(n = 20))
for w in [0.1, 1e-3, 1e-5] {
  # Pieces are separated by a few roundings; the omitted part is small relative
  # to w.
  tol = 1e-12 + 2e-14/w
  for m in grids {
    s = solve(source(w), m)
    assert(abs(s.u(1.0, 0.5) - 1) < tol and abs(s.u(0.4, 0.5)) < tol, "source {m.name} {w}: {s.u(1.0, 0.5)}")
    s = solve(source(w), m, saveat = [0.3, 0.41 + 0.5w, 1.0])
    assert(abs(s.u(0.41 + 0.5w, 0.5) - 0.5) < 10tol, "saveat {m.name} {w}: {s.u(0.41 + 0.5w, 0.5)}")
    s = solve(wall(w), m; estimate = true)
    # after the heat has spread
    assert(abs(s.u(1.0, 0.5) - 1) < 1e-5 and s.error < 0.02, "wall {m.name} {w}: {s.u(1.0, 0.5)} {s.error}")
  }
  for m in (fourier(16), fourier(16, time = cnab2(0.01)), fd(n = 32), fv(n = 64)) {
    s = solve(ring(w), m; estimate = true)
    off = abs(s.u(1.0, π/2)/exp(-0.1*(0.59 - 0.5w)) - 1)
    # the decay within the pulse, from its mean
    assert(off < 3*s.error + w^2/100 + tol, "ring {m.name} {w}: {off} {s.error}")
  }
  for m in (fd(n = 41), chebyshev(16), fem(0.1)) {
    s = solve(quick(w), m; estimate = true)
    off = abs(s.u(1.0, π/2)/exp(-1) - 1)
    assert(off < 3*s.error + 1e-5, "quick {m.name} {w}: {off} {s.error}")
  }
  assert(abs(solve(square(w), fem(0.3)).u(1.0, 0.5, 0.5) - 1) < tol, "square fem {w}")
  assert(abs(solve(square(w), fd(n = 11)).u(1.0, 0.5, 0.5) - 1) < tol, "square fd {w}")
  for m in (fd(n = 11), fem(0.2)) {
    s = solve(held(w), m)
    assert(max(abs([s.u(1.0, 0.5), s.v(1.0, 0.5)] - 1)) < 10tol, "held {m.name} {w}: {s.u(1.0, 0.5)} {s.v(1.0, 0.5)}")
  }
}

# A system of first order in t, whose highest space derivative alone does not
# determine its type.
problem kicked(s) {
  domain t in [0, 1], x in [0, 1]
  field u, v
  u_t == v
  v_t == 0.01u_xx + (if t > s and t < s + 0.01 { 100.0 } else { 0.0 })
  u == 0 at t = 0
  v == 0 at t = 0
  u_x == 0 at x = 0
  u_x == 0 at x = 1
}
for m in (fd(n = 11), fem(0.2), chebyshev(8)) {
  s = solve(kicked(0.3), m)
  off = max(abs(map(t -> s.u(t, 0.4), [0.29, 0.305, 0.4, 1.0]) - [0, 0.00125, 0.095, 0.695]))
  assert(off < 1e-5, "kicked {m.name}: {off}")
}

# Waves, which fem() integrates with Runge-Kutta stages; also between rows.
problem blown(s) {
  domain t in [0, 1], x in [0, 1]
  field p, q
  p_t == q_x + (if t > s and t < 0.31 { 100.0 } else { 0.0 })
  q_t == p_x
  p == 0 at t = 0
  q == 0 at t = 0
  q == 0 at x = 0
  q == 0 at x = 1
}
for m in (fem(0.2), fd(n = 11)) {
  s = solve(blown(0.3), m)
  off = max(abs(map(t -> s.p(t, 0.4), [0.15, 0.2999, 0.305, 0.3101, 0.6, 1.0]) - [0, 0, 0.5, 1, 1, 1]))
  assert(off < 1e-6, "blown {m.name}: {off}")
}
(s -> solve(blown(s), fd(n = 11)).p(1.0, 0.4))'(0.3)        #~ -100 tol 1e-4
