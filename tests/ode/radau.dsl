# radau.dsl - Radau IIA methods of orders 5, 9 and 13: their coefficients by
# single steps, orders, reference solutions and work.

orders = list(5, 9, 13)
# one step over (0, 1) without error control; all its rows
once(f, y, order) = ode(f, y, (0.0, 1.0); method = radau(order = order, first_step = 1.0), rtol = 0.0, atol = 1e6)

for order in orders {
  s = (order + 1) // 2
  r = once((t, y) -> [1.0], [0.0], order)
  c = r.times[1..]
  assert(r.stats.steps == 1 and len(c) == s, "order {order}: one step of {s} stages")
  # The nodes are the zeros of P_s(2x - 1) - P_{s-1}(2x - 1). The last one is
  # the end (stiff accuracy).
  assert(c[-1] == 1 and max(abs(legendre(s, 2c - 1) - legendre(s - 1, 2c - 1))) < 2e-14, "order {order}: nodes {c}")
  # Coefficients have 17 digits. A step uses T and its inverse, whose condition
  # numbers are 12, 130 and 1500.
  # B(2 s - 1): the end of a step integrates powers up to t^(2 s - 2), and no
  # higher one. C(s): all stages integrate powers up to t^(s - 1).
  for k in list(...(1..(2 * s + 1))) {
    values = once((t, y) -> [k * t^(k-1)], [0.0], order).values[1.., 0]
    off = abs(values[-1] - 1)
    if k < 2 * s { assert(off < 5e-15, "order {order}: B({k}) is missed by {off}") } else { assert(off > 1e-12, "order {order}: more than B(2 s - 1)") }
    off = max(abs(values - c^k))
    if k <= s { assert(off < 5e-15, "order {order}: C({k}) is missed by {off}") } else { if k == s + 1 { assert(off > 1e-9, "order {order}: more than C(s)") } }
  }
  # The stability function is the Padé approximation of exp with degrees s - 1
  # and s, which is 0 at -infinity.
  pade(z) = {
    (p, q) = (0.0, 0.0)
    for j in list(...(0..(s + 1))) {
      if j < s { p = p + factorial(2s - 1 - j) / factorial(j) / factorial(s - 1 - j) * z^j }
      q = q + s * factorial(2s - 1 - j) / factorial(j) / factorial(s - j) * (-z)^j
    }
    p / q
  }
  for z in list(-0.3, -2.0, -40.0) {
    end = once((t, y) -> z * y, [1.0], order).values[-1, 0]
    assert(abs(end - pade(z)) < 2e-13, "order {order}: R({z}) = {end}, not {pade(z)}")
  }
  assert(abs(once((t, y) -> -1e12 * y, [1.0], order).values[-1, 0]) < 1e-10, "order {order}: L-stable")
  # The dense output is the stage polynomial.
  mid = once((t, y) -> [s * t^(s-1)], [0.0], order).y(0.37)
  assert(abs(mid[0] - 0.37^s) < 1e-14, "order {order}: dense output")
  at = ode((t, y) -> [s * t^(s-1)], [0.0], (0.0, 1.0); method = radau(order = order, first_step = 1.0), rtol = 0.0, atol = 1e6,
    saveat = [0.37, 1.0]).values
  assert(abs(at[0, 0] - 0.37^s) < 1e-14, "order {order}: values at times asked for")
}

# ---- orders, with equal steps
for order in orders {
  steps = ode((t, y) -> [1.0], [1.0], (0.0, 1.0); method = radau(order = order, first_step = 0.25, max_step = 0.25)).stats.steps
  assert(steps == 4, "order {order}: {steps} steps, of which none is longer than max_step, nor is the last")
}
swing(h, order) = {
  m = radau(order = order, first_step = h, max_step = h)
  y = ode((t, y) -> [y[1], -y[0]], [1.0, 0], (0.0, 12.0); method = m, rtol = 0.0, atol = 1e6, saveat = [12.0]).values[0]
  norm(y - [cos(12.0), -sin(12.0)])
}
log2(swing(0.2, 5) / swing(0.1, 5))       #~ 5 tol 0.05
log2(swing(0.8, 9) / swing(0.4, 9))       #~ 9 tol 0.15
log2(swing(2.0, 13) / swing(1.0, 13))     #~ 13 tol 0.3
# The very stiff problem of Prothero and Robinson. The error of the stages is
# divided by the stiffness, because the methods are stiffly accurate.
prothero(h, order) = {
  m = radau(order = order, first_step = h, max_step = h)
  abs(ode((t, y) -> [-1e6 * (y[0] - cos(t)) - sin(t)], [1.0], (0.0, 8.0); method = m, rtol = 0.0, atol = 1e6, saveat = [8.0]).values[0, 0] - cos(8.0))
}
prothero(0.5, 5) < 3e-10     #> true
prothero(0.5, 9) < 5e-13     #> true
prothero(1.0, 13) < 2e-13    #> true

# ---- end values: test set for IVP solvers, as in stiff.dsl
off(a, b) = max(abs(a / b - 1))
robertson = (t, y) -> {
  (a, b, c) = (0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1]^2)
  [b - a, a - b - c, c]
}
# end value by Radau IIA of order 13 in quadruple precision
robertson_end = [0.017865921142099464, 7.274751468436319e-08, 0.9821340061103858]
reactions(m, r) = ode(robertson, [1.0, 0, 0], (0.0, 1e5); method = m, rtol = r, atol = 1e-6 * r, saveat = [1e5])
for order in orders {
  s = reactions(radau(order = order), 1e-8)
  assert(off(s.values[0], robertson_end) < 1e-8, "order {order}: Robertson's reactions, {off(s.values[0], robertson_end)}")
}
# Higher orders take fewer, longer steps. Newton's matrix is that of the
# predicted midpoint, so three iterations a step suffice.
by5 = reactions(radau5(), 1e-6).stats;
by9 = reactions(radau(order = 9), 1e-5);
off(by9.values[0], robertson_end) < 1e-6                          #> true
by5.steps > 110 and by9.stats.steps < 45                          #> true
by5.newton < 2.2 * by5.steps and by9.stats.newton < 3.5 * by9.stats.steps      #> true
# tight tolerances are reached
off(reactions(radau(order = 9), 1e-12).values[0], robertson_end) < 1e-12      #> true
off(reactions(radau(order = 13), 1e-12).values[0], robertson_end) < 1e-12     #> true
# ... also without a method, which chooses order 9 there
off(ode(robertson, [1.0, 0, 0], (0.0, 1e5); rtol = 1e-12, atol = 1e-18, saveat = [1e5]).values[0], robertson_end) < 1e-12     #> true
