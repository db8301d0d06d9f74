# Newton matrices from a time at which the problem was stiffer. They make every
# correction small, whatever the residual. If the first correction is accepted
# without a test, the solution follows the predictor instead of the problem.

# A component that is stiff until t = 5, follows sin(t), and then stands still;
# alone, and beside an oscillation that dominates the norm of the corrections.
fading(K, q) = (t, y) -> -K*exp(-(t/5)^q)*(y - sin(t))
beside(K, q) = (t, y) -> [-K*exp(-(t/5)^q)*(y[0] - sin(t)), 3.0*y[2]*(1 + 0.3*y[1]), -3.0*y[1]]
end_of(f, y, m, r) = ode(f, y, (0.0, 10.0); method = m, rtol = r, atol = 1e-2*r, saveat = [10.0]).values[0]
methods = (bdf(), radau5(), radau(order = 9), radau(order = 13), rodas5p(), auto())
for K in (1e4, 1e6, 1e9) {
  for q in (10.0, 40.0, 200.0) {
    one = end_of(fading(K, q), [0.0], rodas5p(), 1e-11)
    all = end_of(beside(K, q), [0.0, 1.0, 0.0], rodas5p(), 1e-11)
    for m in methods {
      # The bound is a hundred tolerances. An explicit step of auto() may pass
      # over the decay, which changes the result by 2 %.
      far = if m.name == "auto" { 5e-3 } else { 1e-4 }
      off = max(abs(end_of(fading(K, q), [0.0], m, 1e-6) - one))
      assert(off < far, "{m.name}, K {K}, q {q}: {off}")
      off = max(abs(end_of(beside(K, q), [0.0, 1.0, 0.0], m, 1e-6) - all))
      assert(off < far, "{m.name}, K {K}, q {q}, beside a swing: {off}")
    }
    off = max(abs(end_of(fading(K, q), [0.0], imex(implicit = fading(K, q)), 1e-6) - one))
    assert(off < 1e-4, "imex, K {K}, q {q}: {off}")
  }
}

# The same as an implicit system, for IDA: all fields in one equation, and an
# algebraic one.
problem implicit(K, q) {
  domain t in [0, 10]
  field y, z
  k = K*exp(-(t/5)^q)
  y_t + 0.1*y_t^3 == -k*(y - sin(t))
  z + 0.1*z^3 + k*(z - cos(t)) == 1
  y == 0 at t = 0
}
for K in (1e3, 1e4) {
  for q in (10.0, 40.0) {
    right = solve(implicit(K, q), bdf(); rtol = 1e-10, atol = 1e-12, estimate = false).values[-1]
    s = solve(implicit(K, q), bdf(); estimate = false).values[-1]
    assert(max(abs(s - right)) < 1e-4, "K {K}, q {q}: {s - right}")
  }
}

# The Lane-Emden equation from close to its singular point (its zero: Horedt,
# Polytropes, 2004).
problem star(a) {
  domain t in [a, 6.8968486193]
  field u
  u_tt + 2/t*u_t + u^3 == 0
  u == 1 at t = a
  u_t == 0 at t = a
}
for a in (1e-10, 1e-8, 1e-6) {
  for m in (auto(), bdf(), radau5(), rodas5p()) {
    s = solve(star(a), m)
    assert(abs(s.values[-1, 0]) < 1e-4, "{m.name} from {a}: {s.values[-1, 0]}")
  }
}
