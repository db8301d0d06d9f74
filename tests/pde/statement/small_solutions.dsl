# Rescaling a solution changes neither its relative error nor its estimate.

problem decay(A) {
  domain t in [0, 1], x in [0, 1]
  field u, v
  u_t == 0.1u_xx - 4u + v
  v_t == 0.1v_xx - v*(v/A)
  u == A*exp(-8x) at t = 0
  v == 0.2A*(1 + cos(9x)) at t = 0
  u == A*(1 - t)^3 at x = 0
  u_x == -u at x = 1
  v_x == 0 at x = 0
  v_x == 0 at x = 1
}
best = solve(decay(1.0), chebyshev(40), rtol = 1e-10, atol = 1e-12);
x = (iota(31) + 0.37)/31.5
T = [1/3, 2/3, 1.0]
off(s, A) = max(
  [norm(s.u(t, x)/A - best.u(t, x))/norm(best.u(t, x)) for t in T],
  [norm(s.v(t, x)/A - best.v(t, x))/norm(best.v(t, x)) for t in T])
for m in (fd(n = 61), fd(n = 61, order = 2), chebyshev(12), fem(0.04), fv(n = 60)) {
  one = solve(decay(1.0), m; estimate = true)
  for A in [1e-3, 1e-6, 1e-12, 1e5] {
    s = solve(decay(A), m; estimate = true)
    worst = max(off(s, A))
    assert(worst < 3*s.error + 1e-6, "{m.name} {A}: {worst} {s.error}")
    assert(s.error < 1.5*one.error + 1e-6 and one.error < 1.5*s.error + 1e-6, "{m.name} {A}: {s.error} {one.error}")
  }
}
