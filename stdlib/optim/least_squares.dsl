# least_squares.dsl - the methods of least_squares: Levenberg-Marquardt (by QR,
# by J'J, or by products with J'J), Gauss-Newton, dogleg. pinn_training.dsl
# uses their steps, too.
#
# A method is a function run(r, both, x, b, o, steps, tol): a function that
# returns a vector, one that returns it with its Jacobian, the initial guess,
# bounds (vectors or none), options, and stopping criteria. It returns (x,
# value, gradient_norm, iterations, evaluations, status), like the methods of
# line_search.dsl.
#
# Each unknown is scaled by the largest norm that its column of the Jacobian has
# had (Moré 1978), so the methods are scale-invariant. Systems are solved by QR
# or SVD of the Jacobian. Only the second half of this file uses J'J.

# The state at a point: residual, gradient, Jacobian of the free unknowns
# (scaled), its QR factor R and Q'r.
_residuals_at(both, x, b, units) = {
  (res, J) = both(x)
  (m, n) = shape(J)
  now = norm(J; axis = 0)
  units = max(units, now)
  scale = where(units > 0, units, 1.0)
  g = res @ J
  free = f64(_free(x, g, b))
  # rows of zeros, so that there are at least as many rows as unknowns
  (Q, R) = qr(concat(J * (free / scale), zeros(max(0, n - m), n)))
  (value = 0.5 * (res @ res), res = res, noise = 4e-16 * norm(now * x), now = now, g = g,
    units = units, scale = scale, free = free, Q = Q[..m], R = R, Qr = res @ Q[..m])
}
# The step with damping l at the point p, for Q' times the right-hand side.
_damped(p, l, rhs) = {
  n = len(rhs)
  (Q, R) = qr(concat(p.R, diag(zeros(n) + sqrt(l))))
  (q, S) = (Q[..n], R)
  -trisolve(S, rhs @ q; lower = false)
}
# The undamped step, with minimum norm when unknowns are dependent. The rank is
# decided for columns of norm 1, because earlier units may make a significant
# column small.
_undamped(p) = {
  c = norm(p.R; axis = 0)
  c = where(c > 0, c, 1.0)
  (U, s, V) = svd(p.R / expand(c, 0))
  large = s > 1e-13 * max(s)
  -(V @ where(large, (p.Qr @ U) / where(large, s, 1.0), 0.0)) / c
}
# The undamped step is so small that x is accurate to sqrt(tol): the remainder
# is rounding.
_settled(p, x, tol) = _is_short(p, _undamped(p) / p.scale, x, max(1e-7, sqrt(tol)))
# Whether a step is a small part of x, both measured by their effect on the
# residual.
_is_short(p, step, x, part) = norm(p.now * step) <= part * (1e-300 + norm(p.now * x))
_ended_at(both, p, x, x0, b, k, count, status, tol) = {
  at_rest = if status == 0 or status == 2 {
    status == 2 and _settled(p, x, tol) or
      _is_least(both, p, x, _whole_size(x, abs(x - x0)), b, tol)
  } else { false }
  (x = x, value = p.value, gradient_norm = norm(p.free * p.g), iterations = k, evaluations = count,
    status = if at_rest { 1 } else if status == 0 { 3 } else { status })
}
# Whether x is a minimum by the full Hessian: J'J plus the curvature of the
# residual. This also decides where J vanishes with the gradient.
_is_least(both, p, x, v, b, tol) = {
  # curvature of J'r with the residual r fixed
  bend = _curvatures(w -> (0.0, p.res @ both(w)[1]), x, v, b) * outer(p.free, p.free)
  R = p.R * p.scale
  _is_lowest(R' @ R + bend, p.free * p.g, v, p.value, tol)
}
# Whether the point x1, with sum of squares v1, is better. The difference may be
# rounding, of the sum or of terms that cancel in the residual. Then the
# projection of the residual on the range of the Jacobian decides.
_improves(both, x1, v1, p, b) =
  if abs(v1 - p.value) <= 1e-13 * p.value + 1e-16 * norm(p.scale * x1) * sqrt(p.value) {
    norm(_residuals_at(both, x1, b, p.units).Qr) < norm(p.Qr)
  } else {
    v1 < p.value
  }
# Convergence: the projection of the residual on the range of the Jacobian is
# small (Bates and Watts' relative offset), or the residual is at the rounding
# error due to x.
_reached(p, tol) = norm(p.Qr) <= tol * sqrt(2 * p.value) or sqrt(2 * p.value) <= p.noise

_levenberg(r, both, x, b, o, steps, tol) = {
  p = _residuals_at(both, x, b, 0 * x)
  x0 = x
  l = o.damping + 0.0
  raise = 2.0
  again = true
  (k, count) = (0, 1)
  status = if not (p.value < inf) { 4 } else if _reached(p, tol) { 1 } else { 0 }
  while status == 0 and k < steps {
    v = _damped(p, l, p.Qr)
    x1 = x + v / p.scale
    if o.geodesic {
      # second-order correction: the step follows the geodesic (geodesic
      # acceleration)
      bend = jvp(x -> jvp(r, x, v / p.scale)[1], x, v / p.scale)[1]
      a = _damped(p, l, bend @ p.Q)
      if norm(a) <= 0.75 * norm(v) { x1 = x1 + 0.5 * a / p.scale }
    }
    x1 = _within(x1, b)
    v1 = 0.5 * sum(r(x1)^2)
    step = norm(p.scale * (x1 - x))
    small = _is_short(p, x1 - x, x, tol)
    count = count + 1
    k = k + 1
    if _improves(both, x1, v1, p, b) {
      x = x1
      p = _residuals_at(both, x, b, p.units)
      l = max(l / 5, 1e-20)
      raise = 2.0
      again = true
      # a short step may be due to damping: only the undamped step decides
      # convergence
      if _reached(p, tol) { status = 1 } else if small {
        if _is_short(p, _undamped(p) / p.scale, x, tol) { status = 1 } else { l = 0.01 * l }
      }
    } else {
      l = raise * l
      raise = 2 * raise
      # Rounding dominates, or the step is too long. Vanishing steps end the
      # search. If the undamped step does not vanish, all dampings are tried
      # once more, from the smallest one.
      if step <= 1e-15 * norm(p.scale * x) or step < 1e-300 {
        if again and not _settled(p, x, tol) {
          again = false
          l = 1e-20
          raise = 2.0
        } else { status = 2 }
      }
    }
    if o.progress { progress(k, steps; value = p.value, damping = l) }
  }
  _ended_at(both, p, x, x0, b, k, count, status, tol)
}

_gauss_newton(r, both, x, b, o, steps, tol) = {
  p = _residuals_at(both, x, b, 0 * x)
  x0 = x
  (k, count) = (0, 1)
  status = if not (p.value < inf) { 4 } else if _reached(p, tol) { 1 } else { 0 }
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
      small = t == 1 and _is_short(p, x1 - x, x, tol)
      x = x1
      p = _residuals_at(both, x, b, p.units)
      if small or _reached(p, tol) { status = 1 }
    } else { status = 2 }
    if o.progress { progress(k, steps; value = p.value) }
  }
  _ended_at(both, p, x, x0, b, k, count, status, tol)
}

_dogleg(r, both, x, b, o, steps, tol) = {
  p = _residuals_at(both, x, b, 0 * x)
  x0 = x
  radius = o.radius * max(1.0, norm(p.scale * x))
  (k, count) = (0, 1)
  status = if not (p.value < inf) { 4 } else if _reached(p, tol) { 1 } else { 0 }
  far = _undamped(p)
  while status == 0 and k < steps {
    # Along the gradient to the minimum of the model, then towards the
    # Gauss-Newton step, up to the radius.
    g = p.Qr @ p.R
    near = -((g @ g) / (1e-300 + sum((p.R @ g)^2))) * g
    v = if norm(far) <= radius {
      far
    } else {
      if norm(near) >= radius { near * (radius / norm(near)) } else {
        d = far - near
        (dd, nd) = (d @ d, near @ d)
        near + ((-nd + sqrt(nd^2 + dd * (radius^2 - near @ near))) / dd) * d
      }
    }
    x1 = _within(x + v / p.scale, b)
    v = p.scale * (x1 - x)
    v1 = 0.5 * sum(r(x1)^2)
    foretold = -(p.Qr @ (p.R @ v)) - 0.5 * sum((p.R @ v)^2)
    ratio = (p.value - v1) / foretold
    length = norm(v)
    small = _is_short(p, x1 - x, x, tol)
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
      if _reached(p, tol) or (small and whole) { status = 1 }
    } else { if length <= 1e-15 * norm(p.scale * x) or length < 1e-300 { status = 2 } }
    if o.progress { progress(k, steps; value = p.value, radius = radius) }
  }
  _ended_at(both, p, x, x0, b, k, count, status, tol)
}

# ---- damping by trial: for many residuals, where J'J or products are cheaper

_by_trials(r, both, x, b, o, steps, tol) = {
  if kind(b.lower) != "none" {
    _refuse(
      "least_squares: bounds need lm(), gauss_newton() or dogleg(), which look at each unknown by "
      "itself")
  }
  value = 0.5 * sum(r(x)^2)
  (first, x0) = (value, x)
  (k, count, l) = (0, 1, -1.0)
  status = if not (first < inf) { 4 } else if first == 0 { 1 } else { 0 }
  while status == 0 and k < steps {
    system = if o.name == "lm" { (res, J) = both(x); _normal(J' @ J, J' @ res) } else {
      (res, pull) = vjp(r, x)
      s = _sketch_rows(o, len(x), 50)
      _sketched(map(e -> pull(e), _signs(s, len(res))) / sqrt(f64(s)), _forcing(value, first),
        o.turns)
    }
    if l < 0 { l = o.damping * system.trace / len(x) }
    step = _damping_search(r, system, x, value, l)
    (k, count) = (k + 1, count + step.products + 4)
    if step.value < value {
      small = norm(step.x - x) <= tol * (1e-300 + norm(x))
      x = step.x
      (value, l) = (step.value, step.damping)
      if small or step.reach <= tol * sqrt(2 * value) or value == 0 { status = 1 }
    } else { status = 2 }
    if o.progress { progress(k, steps; value = value, damping = l) }
  }
  vg = _half_square(r)
  g = vg(x)[1]
  _ended(vg, x, abs(x - x0), g, norm(g), b, value, tol, status, k, count)
}
# Half the sum of squares, with its gradient.
_half_square(r) = w -> { (res, pull) = vjp(r, w); (0.5 * (res @ res), pull(res)) }
# The number of rows of the sketch for n unknowns: initially, and after a
# direction that needed so many iterations. It balances the products that more
# rows save and their own cost.
_sketch_rows(o, n, most) =
  if o.sketch > 0 { min(o.sketch, n) } else { clamp(n // 5, min(n, 10), most) }
_more_rows(o, rows, n, turns) =
  if o.sketch == 0 and turns > 15 + rows // 50 {
    max(rows, min(3 * rows // 2, min(n // 2, 2000)))
  } else {
    rows
  }

# One Levenberg-Marquardt step from x, whose loss sum(r(x)^2)/2 is `value`.
# Several dampings are tried. Each gives a direction with geodesic acceleration
# (Transtrum and Sethna 2012). A damping is judged by the accelerated step,
# which may be much longer than the straight one. `system` solves the damped
# equations, by normal equations (_normal) or conjugate gradients (_sketched).
#
# Returns x, loss, damping, the part of the residual that the step could reach,
# and the number of products with J'J. The loss is unchanged when no step was
# better.
_damping_search(r, system, x, value, lambda) = {
  (res, pull) = vjp(r, x)
  h = 0.1
  # right-hand side of the damped equations for the acceleration along a
  # direction d
  acceleration_rhs = (d, Jd) -> pull((2 / h) * ((r(x + h * d) - res) / h - Jd))
  directions =
    system.directions((r = r, x = x, res = res, pull = pull, acceleration_rhs = acceleration_rhs))
  floor_ = 1e-17 * max(system.trace, 1e-300) / len(x)
  (least, out, best_l, reach) = (value, x, 100 * lambda, inf)
  (count, turns) = (0, 0)
  # Two dampings around the last one, then further towards the better one while
  # the loss decreases. If no step is good, the damping increases.
  (l, ratio, tries) = (max(0.4 * lambda, floor_), 4.0, 0)
  (last, low) = (inf, l)
  done = false
  while not done {
    (d, a, Jd, k1, k2) = directions(l)
    count = count + k1 + k2
    turns = max(turns, max(k1, k2))
    v = 0.5 * sum(r(x + d)^2)
    y = x + d
    if norm(a) <= 2 * norm(d) {
      accelerated = x + d + 0.5 * a
      v2 = 0.5 * sum(r(accelerated)^2)
      if v2 < v { v = v2; y = accelerated }
    }
    tries = tries + 1
    if v < least { least = v; out = y; best_l = l; reach = norm(Jd) }
    worse = not (v < last)
    if tries == 1 { l = ratio * l } else {
      if tries == 2 and worse and last < value {
        ratio = 0.25;
        l = max(0.25 * low, floor_);
        done = low <= floor_
      } else {
        done = tries >= 6 or (worse and least < value)
        if tries == 2 { ratio = 4.0 }
        l = if ratio > 1 {
          ratio * l * (if least < value { 1.0 } else { 3.0 })
        } else {
          max(ratio * l, floor_)
        }
      }
    }
    last = if tries == 2 and worse and last < value { last } else { v }
  }
  (x = out, value = least, damping = best_l, reach = reach, products = count, turns = turns)
}
# A solver of the damped equations. directions maps a point p (the residual
# function r, x, r and the transposed derivative there, and the right-hand side
# of accelerations) to a function of the damping l. That returns the direction,
# its acceleration, the derivative of r along it, and for both the number of
# products with J'J. trace: the trace of J'J.
#
# By G = J'J and g = J'r:
_normal(G, g) = (trace = trace(G), directions = p -> l -> _factored_directions(G, g, p, l))
_factored_directions(G, g, p, l) = {
  # refined by corrected seminormal equations (Björck 1987)
  L = _damped_factor(G, l)
  d = -trisolve(L, trisolve(L, g); adjoint = true)
  Jd = jvp(p.r, p.x, d)[1]
  e = p.pull(-p.res - Jd) - l * d
  more = trisolve(L, trisolve(L, stack(e, -p.acceleration_rhs(d, Jd); axis = 1)); adjoint = true)
  (d + more[.., 0], more[.., 1], Jd, 0, 0)
}
# By products with J and J'. A: some rows such that A'A is J'J in expectation.
# enough, most: see _preconditioned.
_sketched(A, enough, most) = (trace = sum(A^2), directions = p -> {
  (K, g, push) = (A @ A', p.pull(p.res), linearize(p.r, p.x)[1])
  l -> _product_directions(_smoother(A, K, l), g, push, enough, most, p, l)
})
_product_directions(smooth, g, push, enough, most, p, l) = {
  product = v -> p.pull(push(v)) + l * v
  (d, k1) = _preconditioned(product, smooth, -g, enough, most)
  Jd = push(d)
  (a, k2) = _preconditioned(product, smooth, -p.acceleration_rhs(d, Jd), enough, most)
  (d, a, Jd, k1, k2)
}
# The Cholesky factor of G + l I, with more damping where rounding makes it
# indefinite.
_damped_factor(G, l) = {
  n = len(G)
  s = l
  L = zeros(n, n)
  done = false
  while not done {
    L = try { cholesky(G + diag(zeros(n) + s)) } catch e { zeros(n, n) }
    if L[0, 0] > 0 { done = true } else { s = 100 * s + 1e-300 }
  }
  L
}
# z -> (A'A + l I)^-1 z by a factor of K + l I, K = AA', whose size is the
# number of rows of A (Sherman-Morrison-Woodbury formula).
_smoother(A, K, l) = {
  L = _damped_factor(K, l)
  z -> (z - trisolve(L, trisolve(L, A @ z); adjoint = true) @ A) / l
}
# Preconditioned conjugate gradients. They stop when the residual in the
# preconditioner's norm is reduced to the fraction `enough`, after `most`
# products, or at a curvature that is not positive, which is rounding. Returns
# the solution and the number of products.
_preconditioned(product, smooth, b, enough, most) = {
  (d, k, r, good) =
    _conjugate(product, b, smooth, most, (r, rho, first) -> not (rho > enough^2 * first))
  (d, k)
}
# Signs f64[m, n] that look random but do not use the random number stream.
_signs(m, n) = {
  t = _scrambled(expand(iota(m) + 1.0, 1), iota(n) + 1.0)
  where(t - floor(t) < 0.5, -1.0, 1.0)
}
# The forcing term: the relative accuracy for solving a step when the loss is
# `value` and was `first` initially. It is a power of the residual's norm (Dembo
# and Steihaug 1983; Eisenstat and Walker 1996).
_forcing(value, first) = clamp(0.03 * (value / first)^0.125, 1e-3, 0.03)
