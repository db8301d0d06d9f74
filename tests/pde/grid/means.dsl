# Fields determined up to a constant: their mean over the domain is 0 for every
# method and grid, and the estimate is that of the shape.
whole(x) = exp(x) - x - 0.5 * (exp(1.0) - 1) * x^2 + 0.5 - 5 * (exp(1.0) - 1) / 6
problem line {
  domain x in [0, 1]
  field u
  u_xx == exp(x) - (exp(1.0) - 1)
  u_x == 0 at x = 0, x = 1
}
problem plane {
  domain x in [0, 1], y in [0, 1]
  field u
  u_xx + u_yy == exp(x) + 2 * exp(y) - 3 * (exp(1.0) - 1)
  u_x == 0 at x = 0, x = 1
  u_y == 0 at y = 0, y = 1
}
# of two fields, one is free
problem two {
  domain x in [0, 1]
  field u, v
  u_xx + v == exp(x) - (exp(1.0) - 1) + sin(x)
  v_xx == -sin(x)
  u_x == 0 at x = 0, x = 1
  v == 0 at x = 0
  v == sin(1.0) at x = 1
}
# a condition at a point fixes the constant
problem pinned {
  domain x in [0, 1]
  field u
  u_xx == exp(x) - (exp(1.0) - 1)
  u_x == 0 at x = 0, x = 1
  u == 3 at (0.5,)
}
xs = linspace(0.03, 0.97, 31)
is_near(name, s, got, wanted) = {
  e = norm(got - wanted) / norm(wanted)
  assert(e <= 3 * s.error + 1e-6, "{name} by {s.method}: off by {e}, {s.error} said")
  assert(s.error <= 10 * e + 1e-5, "{name} by {s.method}: off by {e} only, {s.error} said")
}
for m in list(fd(n = 41), fd(n = 41, order = 2), fd(n = 80, order = 6), chebyshev(12), chebyshev(17), rfm()) {
  s = solve(line, m; estimate = true)
  is_near("line", s, s.u(xs), whole(xs))
  s = solve(two, m; estimate = true)
  is_near("two", s, s.u(xs), whole(xs))
  s = solve(pinned, m; estimate = true)
  is_near("pinned", s, s.u(xs), whole(xs) - whole(0.5) + 3)
}
for m in list(fd(n = 31), chebyshev(14), rfm()) {
  s = solve(plane, m; estimate = true)
  is_near("plane", s, s.u(xs, 0.3), whole(xs) + 2 * whole(0.3))
}
