# Rates with kinks that depend on time alone: abs, max, min, and the knots of
# tables. Steps end at the kinks, so that derivatives of every order with
# respect to their times are right. Oracle: closed forms.
# In a long check only: it takes half a minute.
rate = list((t, s) -> abs(t - s), (t, s) -> max(t - s, 0.0), (t, s) -> clamp((t - s) / 0.2, 0.0, 1.0), (t, s) -> min(s, t))
exact = list(s -> exp(0.5 * s^2 + 0.5 * (1.5 - s)^2), s -> exp(0.5 * (1.5 - s)^2), s -> exp(1.4 - s), s -> exp(1.5 * s - 0.5 * s^2))
to(r, s, m) = ode((t, y) -> [r(t, s) * y[0]], [1.0], (0.0, 1.5); method = m, rtol = 1e-8, atol = 1e-10).values[-1, 0]
for m in list(dop853(), tsit5(), bdf(), radau5(), rodas5p()) {
  for (r, e) in list((rate[0], exact[0]), (rate[1], exact[1]), (rate[2], exact[2]), (rate[3], exact[3])) {
    f = s -> to(r, s, m)
    off = stack(f(0.6) - e(0.6), grad(f)(0.6) - grad(e)(0.6), grad(grad(f))(0.6) - grad(grad(e))(0.6))
    assert(max(abs(off)) < 5e-6, "{m.name}: off by {off}")
  }
}

# A table: its integral is that of the trapezium rule, and shifting it moves its
# knots.
xs = [0.0, 0.3, 0.7, 1.0]
v0 = [1.0, 3.0, -2.0, 0.5]
whole(v, m) = ode((t, y) -> [interp(t, xs, v)], [0.0], (0.0, 1.0); method = m, rtol = 1e-8, atol = 1e-10).values[-1, 0]
shifted(s, m) = ode((t, y) -> [interp(t - s, xs, v0)], [0.0], (0.0, 1.1); method = m, rtol = 1e-8, atol = 1e-10).values[-1, 0]
wider(k, m) = ode((t, y) -> [interp(t, [0.0, k, 1.0], [0.0, 2.0, 0.0]) * y[0]], [1.0], (0.0, 0.8); method = m, rtol = 1e-8, atol = 1e-10).values[-1, 0]
wider_exact(k) = exp(1 - 0.04 / (1 - k))
for m in list(dop853(), bdf(), rodas5p()) {
  assert(max(abs(grad(v -> whole(v, m))(v0) - [0.15, 0.35, 0.35, 0.15])) < 1e-8, m.name)
  # The first derivative is the rate at -0.2 less that at 0.9; the second is the
  # derivative of this difference.
  f = s -> shifted(s, m)
  off = stack(grad(f)(0.2) - 4 / 3, grad(grad(f))(0.2) - 25 / 3)
  assert(max(abs(off)) < 1e-6, "{m.name}: off by {off}")
  g = k -> wider(k, m)
  off = stack(g(0.4) - wider_exact(0.4), grad(g)(0.4) - grad(wider_exact)(0.4), grad(grad(g))(0.4) - grad(grad(wider_exact))(0.4))
  assert(max(abs(off)) < 3e-5, "{m.name}: off by {off}")
}

# in a problem, and with lags
problem ramp(s = 0.6) {
  domain t in [0, 1.5]
  field u
  u_t == max(t - s, 0.0) * u
  u == 1 at t = 0
}
ended(s) = solve(ramp(s), rtol = 1e-8, atol = 1e-10).u(1.5)
grad(grad(ended))(0.6)           #~ grad(grad(exact[1]))(0.6) tol 1e-6
delayed(s) = dde((t, y, Z) -> [max(t - s, 0.0) * y[0]], [1.0], (0.0, 1.5); lags = 1.0, rtol = 1e-9, atol = 1e-11).values[-1, 0]
grad(delayed)(0.6)               #~ grad(exact[1])(0.6) tol 1e-7
grad(grad(delayed))(0.6)         #~ grad(grad(exact[1]))(0.6) tol 1e-6
