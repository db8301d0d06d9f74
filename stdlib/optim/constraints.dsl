# constraints.dsl - constrained minimisation by the augmented Lagrangian, with
# derivatives from the Karush-Kuhn-Tucker conditions.

# f takes vectors; equal and below are functions that return vectors, or none.
# back restores the form of the parameters.
_constrained(f, start, lower, upper, equal, below, o, steps, tol, back, partial) = {
  c = if kind(equal) == "none" { w -> 0 * w[..0] } else { equal }
  h = if kind(below) == "none" { w -> 0 * w[..0] } else { below }
  r = _constrained_minimum(f, c, h, clamp(start, stop_gradient(lower), stop_gradient(upper)), lower,
    upper, o, steps, tol)
  _assure_finite("minimize", "the function, or a constraint,", r, partial)
  message = if r.status == 1 { "the conditions of optimality hold" } else if r.status == 2 {
    ("the constraints are not met: they may contradict each other, or the way there be barred from "
      "this start")
  } else { _outcome(r.status) }
  (x = back(r.x), value = r.value, gradient_norm = r.gradient_norm, iterations = r.iterations,
    evaluations = r.evaluations, violation = r.violation, multipliers = (equal = r.equal,
      below = r.below), converged = r.status == 1, message = message)
}

# Minimises f + m.c + |c|^2 w/2 + (|max(0, n + w h)|^2 - |n|^2) / 2w repeatedly
# within the bounds. The multipliers m and n are updated from the constraints'
# values; the penalty weight w grows when these do not decrease (Powell 1969,
# Hestenes 1969, Rockafellar 1973; Nocedal and Wright 2006, section 17.4). Near
# the end Newton's method solves the optimality conditions with the active
# constraints and bounds.
_augmented(f, c, h, start, lower, upper, o, steps, tol) = {
  x = start
  m = 0 * c(x)
  n = 0 * h(x)
  b = (lower = lower, upper = upper)
  miss = inf
  off = _sum_of_squares(c(x)) + _sum_of_squares(max(h(x), 0.0))
  w = if off > 1e-12 { clamp(10 * abs(f(x)) / off, 1.0, 1e3) } else { 10.0 }
  (k, count, turn) = (0, 0, 0)
  inner = 1e-2
  status = 0
  while status == 0 and turn < 60 and k < 20 * steps {
    q = o.run(_augmented_lagrangian(f, c, h, m, n, w), x, b, o, steps, max(tol, inner))
    x = q.x
    k = k + q.iterations
    count = count + q.evaluations
    turn = turn + 1
    (cx, hx) = (c(x), h(x))
    # violated constraints, or multipliers of inactive ones
    now = sqrt(_sum_of_squares(cx) + _sum_of_squares(max(hx, -n / w)))
    m = m + w * cx
    n = max(n + w * hx, 0.0)
    (gn, scale) = _optimality_left(f, c, h, x, start, m, n, b)
    enough = 1e-5 * (1 + norm(x))
    if not (abs(q.value) < inf) { status = 4 }
    if now <= enough and (gn <= 1e-4 * scale or turn > 20) {
      (x, m, n) = _polished(f, c, h, x, m, n, b)
      # along the constraints it may be a maximum or a saddle point
      vg = value_and_grad(_augmented_lagrangian(f, c, h, m, n, w))
      (value, g) = vg(x)
      (falls, place, more) = _lower_beside(vg, x, value, g, abs(x - start), b)
      count = count + more + 1
      if falls { x = place } else { status = 1 }
    }
    if now > 0.25 * miss and now > enough { w = min(10 * w, 1e10) }
    if w >= 1e10 and now > enough and now >= 0.9 * miss { status = 2 }
    miss = now
    inner = max(0.1 * inner, 1e-8)
    if o.progress { progress(turn; value = q.value, violation = now, weight = w) }
  }
  violation = max(concat([0.0], abs(c(x)), h(x)))
  (gn, scale) = _optimality_left(f, c, h, x, start, m, n, b)
  value = f(x)
  met = violation <= 1e-6 * (1 + norm(x))
  good = gn <= 1e-5 * scale
  status = if status == 4 { 4 } else if not met { 2 } else if good { 1 } else { 3 }
  (x = x, value = value, gradient_norm = gn, iterations = k, evaluations = count, status = status,
    violation = violation, equal = m, below = n)
}
_augmented_lagrangian(f, c, h, m, n, w) =
  z -> f(z) + m @ c(z) + 0.5 * w * _sum_of_squares(c(z)) +
  _sum_of_squares(max(n + w * h(z), 0.0)) / (2 * w)
# The gradient of the Lagrangian at x, and a scale for it: the gradient of f,
# which multipliers balance, and its own change over x.
_optimality_left(f, c, h, x, start, m, n, b) = {
  vg = value_and_grad(_lagrangian(f, c, h, m, n))
  g = vg(x)[1]
  (_slope_left(x, g, b),
    norm(grad(f)(x)) + norm(_change_over(vg, x, g, b, abs(x) + abs(x - start))))
}
_lagrangian(f, c, h, m, n) = z -> f(z) + m @ c(z) + n @ h(z)
# Newton's method for the optimality conditions, as long as it converges.
_polished(f, c, h, x, m, n, b) = {
  size_x = len(x)
  size_m = len(m)
  L = (x, m, n) -> grad(_lagrangian(f, c, h, m, n))(x)
  fixed = not _free(x, L(x, m, n), b)
  binds = n > 0
  unmet = (x, m, n) -> concat(where(fixed, 0.0, L(x, m, n)), c(x), where(binds, h(x), n))
  rest = unmet(x, m, n)
  open = true
  k = 0
  while open and k < 12 {
    d = try {
      -linsolve(_optimality(f, c, h, x, m, n, fixed, binds), rest)
    } catch e {
      0 * rest + nan
    }
    x1 = clamp(x + d[..size_x], b.lower, b.upper)
    m1 = m + d[size_x..size_x + size_m]
    n1 = n + d[size_x + size_m..]
    next = unmet(x1, m1, n1)
    nearer = norm(next) < norm(rest) and all(n1 >= 0) and all(binds or h(x1) <= 1e-9)
    open = nearer and norm(next) > 1e-15 * (1 + norm(x))
    if nearer { x = x1; m = m1; n = n1; rest = next }
    k = k + 1
  }
  (x, m, n)
}
# The Jacobian of the optimality conditions with respect to x, m and n: L_xx dx
# + C' dm + H' dn; C dx; H dx where h is active, dn where it is not. Unknowns at
# a bound are held.
_optimality(f, c, h, x, m, n, fixed, binds) = {
  C = _jacobian(c, x)
  H = _jacobian(h, x)
  (p, q, r) = (len(x), len(m), len(n))
  held = expand(fixed, 1)
  bound = expand(binds, 1)
  L = _hessian(_lagrangian(f, c, h, m, n), x)
  concat(
    concat(where(held, eye(p), L), where(held, 0.0, C'), where(held, 0.0, H'); axis = 1),
    concat(C, zeros(q, q + r); axis = 1),
    concat(where(bound, H, 0.0), zeros(r, q), where(bound, 0.0, eye(r)); axis = 1))
}
_sum_of_squares(v) = v @ v

# dx, dm and dn balance the changes of f, c and h. Unknowns at a bound move with
# it.
derivative _constrained_minimum(f, c, h, start, lower, upper, o, steps, tol), df, dc, dh, dstart,
  dlower, dupper, do, dsteps, dtol = {
  (x, m, n) = (y.x, y.equal, y.below)
  still = 0 * x
  (size_x, size_m) = (len(x), len(m))
  low = x <= lower
  fixed = low or x >= upper
  moved = where(low, (if _absent(dlower) { still } else { dlower }),
    if _absent(dupper) { still } else { dupper })
  binds = n > 0
  of_f = if _absent(df) { still } else { grad(df)(x) }
  of_c = if _absent(dc) { still } else { grad(z -> m @ dc(z))(x) }
  of_h = if _absent(dh) { still } else { grad(z -> n @ dh(z))(x) }
  change_c = if _absent(dc) { 0 * m } else { dc(x) }
  change_h = if _absent(dh) { 0 * n } else { dh(x) }
  d = linsolve(_optimality(f, c, h, x, m, n, fixed, binds),
    concat(where(fixed, moved, -(of_f + of_c + of_h)), -change_c, where(binds, -change_h, 0.0)))
  dx = d[..size_x]
  at = if _absent(df) { 0.0 } else { df(x) }
  (x = dx, value = at + grad(f)(x) @ dx, gradient_norm = 0.0, iterations = y.iterations,
    evaluations = y.evaluations, status = y.status, violation = 0.0,
    equal = d[size_x..size_x + size_m], below = d[size_x + size_m..])
}
_constrained_minimum(f, c, h, start, lower, upper, o, steps, tol) =
  _augmented(f, c, h, start, lower, upper, o, steps, tol)
