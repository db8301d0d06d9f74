# Error estimates of problems with comparisons in t and x. Kinks, and
# comparisons that never change sign, must not count as jumps; jumps must.
# Oracle: U, a manufactured solution.

U(t, x) = (sin(3x) + 1.5)*(1 + 0.5*sin(t))
F(t, x) = 0.5*cos(t)*(sin(3x) + 1.5) + 9sin(3x)*(1 + 0.5*sin(t))
places = linspace(0.013, 0.987, 41)
off(s) = {
  errors = map(t -> norm(s.u(t, places) - U(t, places))/norm(U(t, places)), [1.0/3, 2.0/3, 1])
  max(errors)
}

# A heat source where u is above c, and a loss at the end where u is above d.
problem above(c, d) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx + F(t, x) + max(u - c, 0) - (if U(t, x) < c { 0 } else { U(t, x) - c })
  u == U(0, x) at t = 0
  u_x == 3*(1 + 0.5*sin(t)) at x = 0
  u_x + 2*max(u - d, 0) == 3cos(3)*(1 + 0.5*sin(t)) + 2*max(U(t, 1) - d, 0) at x = 1
}
# never, sometimes, always
for c in [9, 2.1, 0.2] {
  for d in [9, 2, 0.2] {
    for m in (fd(n = 41), fd(n = 81, order = 2), fd(n = 80)) {
      s = solve(above(c, d), m, estimate = true)
      e = off(s)
      assert(s.error > e/3 and s.error < 10e + 1e-5, "above({c}, {d}) by {m.name}({m.n}): {s.error} said, {e} is")
    }
  }
}

# The coefficient of u changes at c, where the term itself is small: the
# difference of both sides is no jump.
problem slopes(c) {
  domain t in [0, 1], x in [0, 1] periodic
  field u
  w = (sin(2π*x + 0.8) + 0.66)*(1 + 0.41t)
  own = if u < c { 0.66*(u - c) } else { 5.94*(u - c) }
  known = if w < c { 0.66*(w - c) } else { 5.94*(w - c) }
  u_t == 0.08u_x + 0.022u_xx - own + known + 0.41*(sin(2π*x + 0.8) + 0.66) + (1 + 0.41t)*(-0.08*2π*cos(2π*x + 0.8) + 0.022*4π^2*sin(2π*x + 0.8))
  u == sin(2π*x + 0.8) + 0.66 at t = 0
}
for m in (fd(n = 64), fd(n = 64, order = 2)) {
  s = solve(slopes(0.83), m, estimate = true)
  e = norm(s.u(1.0, places) - 1.41*(sin(2π*places + 0.8) + 0.66))/norm(1.41*(sin(2π*places + 0.8) + 0.66))
  assert(s.error > e/3 and s.error < 10e + 1e-5, "slopes by {m.name}({m.order}): {s.error} said, {e} is")
}

# A jump at a moving location: the error varies erratically with the grid, and
# the estimate must not fall below it.
problem fed(c) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx + (if x < c + 0.2t { 1.0 } else { 0.0 })
  u == 0 at t = 0
  u_x == 0 at x = 0, x = 1
}
# Its integral over x is known: c t + 0.1 t².
for c in [0.3, 0.317, 0.41] {
  for m in (fd(n = 21), fd(n = 41), fd(n = 41, order = 2)) {
    s = solve(fed(c), m, estimate = true)
    mean_ = integrate(x -> s.u(1.0, x), 0, 1)
    e = abs(mean_ - (c + 0.1))/norm(s.u(1.0, places))*sqrt(41.0)
    assert(s.error > e/3, "fed({c}) by {m.name}({m.n}): {s.error} said, {e} is")
  }
}
