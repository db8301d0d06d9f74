# trust_region.dsl - the trust region methods of minimize: Newton's method with
# the dense Hessian, and by conjugate gradients.
#
# The conventions are those of line_search.dsl. A step whose reduction the model
# predicts badly is rejected and the radius shrinks. The radius grows when the
# model is good and the step ends at it (Nocedal and Wright 2006, algorithm
# 4.1).

# model(x, g, free, radius) returns the step that minimises the quadratic model
# at x.
_trusting(f, x, b, o, steps, tol, model) = {
  vg = value_and_grad(f)
  (x0, span) = (x, 0 * x)
  (value, g) = vg(x)
  radius = o.radius + 0.0
  (k, count) = (0, 1)
  (gn, seen) = (_slope_left(x, g, b), inf)
  status = if _runs_away(value, gn) { 4 } else { 0 }
  while status == 0 and k < steps {
    (rests, seen, more) = _at_rest(vg, x, span, g, gn, b, value, tol, seen)
    count = count + more
    if rests { status = 1 } else {
      free = f64(_free(x, g, b))
      s = model(x, g, free, radius)
      x1 = _within(x + s, b)
      if kind(b.lower) != "none" {
        # Unknowns that the step takes to a bound stay there; the others go on
        # to the minimum of the model.
        turn = 0
        while any(x + s != x1) and turn < 20 {
          free = free * f64(x + s == x1)
          s = x1 - x
          s = s + model(x, g + hvp(f, x, s), free, radius)
          x1 = _within(x + s, b)
          turn = turn + 1
        }
      }
      s = x1 - x
      foretold = -(g @ s) - 0.5 * (s @ hvp(f, x, s))
      (v1, g1) = vg(x1)
      count = count + 1
      k = k + 1
      # where differences of f are rounding, the gradient decides
      noise = 1e-13 * abs(value)
      small = foretold <= noise and abs(v1 - value) <= noise
      ratio = if small {
        if _slope_left(x1, g1, b) < gn { 1.0 } else { -1.0 }
      } else {
        (value - v1) / foretold
      }
      length = norm(s)
      good = ratio > 1e-4 and (foretold > 0 or small)
      radius = if not (ratio >= 0.25) {
        0.25 * min(radius, length)
      } else if ratio > 0.75 and length > 0.99 * radius {
        2 * radius
      } else {
        radius
      }
      if good {
        x = x1
        span = max(span, abs(x - x0))
        value = v1
        g = g1
        gn = _slope_left(x, g, b)
        if _runs_away(value, gn) { status = 4 }
      }
      if status == 0 and not (radius > 1e-15 * (norm(x) + norm(span))) { status = 2 }
      if o.progress { progress(k, steps; value = value, gradient = gn, radius = radius) }
    }
  }
  _ended(vg, x, span, g, gn, b, value, tol, status, k, count)
}

_trust_newton(f, x, b, o, steps, tol) = _trusting(f, x, b, o, steps, tol, (x, g, free, radius) -> {
  H = expand(free, 1) * _hessian(f, x) * free
  # held unknowns get a stiffness of their own, and no force
  _exact_step(0.5 * (H + H') + diag((1 - free) * (1 + max(abs(H)))), free * g, radius)
})
# The minimum of g'p + p'Hp/2 for |p| <= radius: p = -(H + s I)^-1 g, where s >=
# 0 makes H + s I positive. It uses the eigenvalues of H, and Newton's method on
# 1/radius - 1/|p(s)| for s (Moré and Sorensen 1983). In the hard case, g
# orthogonal to the lowest eigenvectors, a component along one of them extends p
# to the radius.
_exact_step(H, g, radius) = {
  (w, V) = eigh(H)
  c = V' @ g
  least = min(w)
  size = max(abs(w))
  tiny = 1e-14 * (1e-300 + size)
  at = s -> { d = w + s; where(abs(d) > tiny, -c / where(abs(d) > tiny, d, 1.0), 0.0) }
  inner = if least > tiny { norm(at(0.0)) <= radius } else { false }
  q = if inner { at(0.0) } else {
    s = max(0.0, -least)
    q = at(s)
    hard = norm(q) < radius and max(where(w <= least + tiny, abs(c), 0.0)) <= 1e-12 * norm(c)
    if hard {
      q[argmin(w)] += sqrt(max(radius^2 - sum(q^2), 0.0))
      q
    } else {
      low = s
      high = s + norm(c) / radius + tiny
      s = high
      for turn in 0..60 {
        q = at(s)
        n = norm(q)
        if n > radius { low = s } else { high = s }
        if abs(n - radius) > 1e-3 * radius {
          slope = sum(q^2 / where(abs(w + s) > tiny, w + s, 1.0))
          next = s + (n^2 / slope) * (n - radius) / radius
          s = if next > low and next < high { next } else { 0.5 * (low + high) }
        } else { break }
      }
      at(s)
    }
  }
  V @ q
}

_trust_cg(f, x, b, o, steps, tol) = _trusting(f, x, b, o, steps, tol, (x, g, free, radius) -> {
  (value, push) = linearize(grad(f), x)
  _steihaug(p -> free * push(free * p), free * g, radius)
})
# Conjugate gradients for H p = -g. They stop at the radius, at a direction of
# negative curvature, or when accurate enough for superlinear convergence of
# Newton's method.
_steihaug(product, g, radius) = {
  p = 0 * g
  r = g
  d = -g
  rr = r @ r
  enough = min(0.5, sqrt(sqrt(rr))) * sqrt(rr)
  k = 0
  open = rr > 0
  while open and k < 2 * len(g) + 10 {
    q = product(d)
    bend = d @ q
    a = rr / bend
    p1 = p + a * d
    if not (bend > 0) or norm(p1) >= radius {
      # extend to the radius: |p + t d| = radius, t > 0
      (dd, pd) = (d @ d, p @ d)
      t = (-pd + sqrt(max(pd^2 + dd * (radius^2 - p @ p), 0.0))) / dd
      p = p + t * d
      open = false
    } else {
      p = p1
      r = r + a * q
      next = r @ r
      open = sqrt(next) > enough
      d = -r + (next / rr) * d
      rr = next
    }
    k = k + 1
  }
  p
}
