# residuals.dsl - the methods of least_squares: Levenberg-Marquardt, Gauss-Newton, dogleg.
#
# A method is a function run(r, both, x, b, o, steps, tol) of a function that gives a vector, of one that gives it together with its Jacobian, where to begin, bounds (vectors or
# none), options and when to stop; it gives (x, value, gradient_norm, iterations, evaluations, status) as those of descent.dsl do. Unknowns are measured in units of the largest norm that
# their column of the Jacobian has had (Moré 1978), so that their scale does not matter; systems are solved by QR or SVD of the Jacobian, never of its square.

# One place: residual, gradient, scaled Jacobian of the unknowns that may move, its orthogonal factor R with Q'r.
_residuals_at(both, x, b, units) = {
  (res, J) = both(x)
  (m, n) = shape(J)
  units = max(units, sqrt(sum(J^2; axis = 0)))
  scale = where(units > 0, units, 1.0)
  g = res @ J
  free = f64(_free(x, g, b))
  # rows of zeros, so that there are as many as unknowns
  (Q, R) = qr(concat(J * (free / scale), zeros(max(0, n - m), n)))
  (value = 0.5 * (res @ res), res = res, g = g, units = units, scale = scale, free = free, Q = Q[..m], R = R, Qr = res @ Q[..m])
}
# The step with damping l of the place p for what Q makes of a right-hand side
_damped(p, l, rhs) = {
  n = len(rhs)
  (Q, R) = qr(concat(p.R, diag(zeros(n) + sqrt(l))))
  (q, S) = (Q[..n], R)
  -trisolve(S, rhs @ q; lower = false)
}
# The undamped step of least norm
_undamped(p) = {
  (U, s, V) = svd(p.R)
  large = s > 1e-13 * max(s)
  -(V @ where(large, (p.Qr @ U) / where(large, s, 1.0), 0.0))
}
# The undamped step is so small that the place is good to the root of tol: what is left is rounding.
_settled(p, x, tol) = norm(_undamped(p)) <= max(1e-7, sqrt(tol)) * (1e-300 + norm(p.scale * x))
_ended_at(p, x, k, count, status, tol) = {
  at_rest = if status == 2 { _settled(p, x, tol) } else { false }
  (x = x, value = p.value, gradient_norm = norm(p.free * p.g), iterations = k, evaluations = count,
    status = if at_rest { 1 } else if status == 0 { 3 } else { status })
}
# Is the place x1 better, whose sum of squares is v1? Where the difference is rounding, of the sum or of the terms that the residual is the small rest of, the part of the residual that the
# Jacobian reaches tells.
_improves(both, x1, v1, p, b) =
  if abs(v1 - p.value) <= 1e-13 * p.value + 1e-16 * norm(p.scale * x1) * sqrt(p.value) {
    norm(_residuals_at(both, x1, b, p.units).Qr) < norm(p.Qr)
  } else {
    v1 < p.value
  }
# Is a place good enough: the part of the residual that the Jacobian reaches (Bates and Watts' relative offset), or the residual itself, beside what it was
_reached(p, first, tol) = norm(p.Qr) <= tol * sqrt(2 * p.value) or p.value <= 5e-32 * first

_levenberg(r, both, x, b, o, steps, tol) = {
  p = _residuals_at(both, x, b, 0 * x)
  first = p.value
  l = o.damping + 0.0
  raise = 2.0
  (k, count) = (0, 1)
  status = if not (first < inf) { 4 } else if _reached(p, first, tol) { 1 } else { 0 }
  while status == 0 and k < steps {
    v = _damped(p, l, p.Qr)
    x1 = x + v / p.scale
    if o.geodesic {
      # to second order the step follows the geodesic, which the residual makes straight
      bend = jvp(x -> jvp(r, x, v / p.scale)[1], x, v / p.scale)[1]
      a = _damped(p, l, bend @ p.Q)
      if norm(a) <= 0.75 * norm(v) { x1 = x1 + 0.5 * a / p.scale }
    }
    x1 = _within(x1, b)
    v1 = 0.5 * sum(r(x1)^2)
    step = norm(p.scale * (x1 - x))
    small = step <= tol * (1e-300 + norm(p.scale * x))
    count = count + 1
    k = k + 1
    if _improves(both, x1, v1, p, b) {
      x = x1
      p = _residuals_at(both, x, b, p.units)
      l = max(l / 5, 1e-20)
      raise = 2.0
      if _reached(p, first, tol) or (small and l < 1e-3) { status = 1 }
    } else {
      # rounding decides, or the step is too long
      if step <= 1e-15 * norm(p.scale * x) or step < 1e-300 { status = 2 }
      l = raise * l
      raise = 2 * raise
    }
    if o.progress { progress(k, steps; value = p.value, damping = l) }
  }
  _ended_at(p, x, k, count, status, tol)
}

_gauss_newton(r, both, x, b, o, steps, tol) = {
  p = _residuals_at(both, x, b, 0 * x)
  first = p.value
  (k, count) = (0, 1)
  status = if not (first < inf) { 4 } else if _reached(p, first, tol) { 1 } else { 0 }
  while status == 0 and k < steps {
    v = _undamped(p) / p.scale
    t = 1.0
    x1 = _within(x + v, b)
    v1 = 0.5 * sum(r(x1)^2)
    count = count + 1
    tries = 0
    better = _improves(both, x1, v1, p, b)
    while not better and tries < 50 {
      t = 0.5 * t
      x1 = _within(x + t * v, b)
      v1 = 0.5 * sum(r(x1)^2)
      better = v1 < p.value
      count = count + 1
      tries = tries + 1
    }
    k = k + 1
    if better {
      small = t == 1 and norm(p.scale * (x1 - x)) <= tol * (1e-300 + norm(p.scale * x))
      x = x1
      p = _residuals_at(both, x, b, p.units)
      if small or _reached(p, first, tol) { status = 1 }
    } else { status = 2 }
    if o.progress { progress(k, steps; value = p.value) }
  }
  _ended_at(p, x, k, count, status, tol)
}

_dogleg(r, both, x, b, o, steps, tol) = {
  p = _residuals_at(both, x, b, 0 * x)
  first = p.value
  radius = o.radius * max(1.0, norm(p.scale * x))
  (k, count) = (0, 1)
  status = if not (first < inf) { 4 } else if _reached(p, first, tol) { 1 } else { 0 }
  far = _undamped(p)
  while status == 0 and k < steps {
    # down the gradient to the model's minimum, then towards that of Gauss and Newton, as far as the radius
    g = p.Qr @ p.R
    near = -((g @ g) / (1e-300 + sum((p.R @ g)^2))) * g
    v = if norm(far) <= radius { far } else { if norm(near) >= radius { near * (radius / norm(near)) } else {
      d = far - near
      (dd, nd) = (d @ d, near @ d)
      near + ((-nd + sqrt(nd^2 + dd * (radius^2 - near @ near))) / dd) * d
    } }
    x1 = _within(x + v / p.scale, b)
    v = p.scale * (x1 - x)
    v1 = 0.5 * sum(r(x1)^2)
    foretold = -(p.Qr @ (p.R @ v)) - 0.5 * sum((p.R @ v)^2)
    ratio = (p.value - v1) / foretold
    length = norm(v)
    small = length <= tol * (1e-300 + norm(p.scale * x))
    radius = if not (ratio >= 0.25) {
      0.25 * min(length, radius)
    } else if ratio > 0.75 {
      max(radius, 3 * length)
    } else {
      radius
    }
    count = count + 1
    k = k + 1
    if _improves(both, x1, v1, p, b) {
      whole = length >= 0.99 * norm(far)
      x = x1
      p = _residuals_at(both, x, b, p.units)
      far = _undamped(p)
      if _reached(p, first, tol) or (small and whole) { status = 1 }
    } else { if length <= 1e-15 * norm(p.scale * x) or length < 1e-300 { status = 2 } }
    if o.progress { progress(k, steps; value = p.value, radius = radius) }
  }
  _ended_at(p, x, k, count, status, tol)
}
