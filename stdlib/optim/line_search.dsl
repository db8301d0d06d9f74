# line_search.dsl - the methods of minimize along search directions:
# quasi-Newton, conjugate gradient, first-order and simplex methods.
#
# A method is a function run(f, x, b, o, steps, tol): a real function of a
# vector, the initial guess, bounds (vectors or none), options, and stopping
# criteria. It returns (x, value, gradient_norm, iterations, evaluations,
# status). status is 1 converged, 2 stuck, 3 steps used up, 4 not finite.
#
# With bounds the methods are projected: unknowns at a bound that the gradient
# pushes outwards are held, the others follow the method's direction, and steps
# are projected on the bounds (Bertsekas, SIAM J. Control Optim. 20, 1982).

# The free unknowns: not at a bound with the gradient pushing outwards.
_free(x, g, b) =
  if kind(b.lower) == "none" {
    g == g
  } else {
    not ((x <= b.lower and g > 0) or (x >= b.upper and g < 0))
  }
_within(x, b) = if kind(b.lower) == "none" { x } else { clamp(x, b.lower, b.upper) }
# The norm of the projected gradient.
_slope_left(x, g, b) =
  if kind(b.lower) == "none" { norm(g) } else { norm(where(_free(x, g, b), g, 0.0)) }
# The scale of the unknowns: |x|, plus a small multiple of `span`, the longest
# distance from x0 so far, for unknowns that converge to 0.
_own_size(x, span) = abs(x) + 1e-8 * span
# The same with the full distance. Unknowns at 0 that have not moved have no
# scale and get 1.
_whole_size(x, span) = { v = abs(x) + span; where(v > 0, v, 1.0) }
# The change of each element of the gradient g at x over v, the scale of the
# unknowns, by a finite difference over a fraction of v. A gradient judged
# relative to this is independent of a constant added to f and of the units of f
# and the unknowns. A gradient that changes nowhere never vanishes.
_change_over(vg, x, g, b, v) = {
  there = _within(x + 1e-4 * v, b)
  x1 = if norm(there - x) > 0 { there } else { _within(x - 1e-4 * v, b) }
  way = norm(x1 - x)
  if way > 0 { abs(vg(x1)[1] - g) * (norm(v) / way) } else { 0 * g }
}
# Whether each element of the projected gradient is a small part of its change.
_vanishes_beside(x, g, b, part, change) = all(abs(g) <= part * change or not _free(x, g, b))
# Whether the gradient, of norm gn, vanishes. The test runs when gn is small
# relative to f, and a tenth of its value `seen` at the last test. Returns the
# answer, the new `seen`, and the number of evaluations.
_at_rest(vg, x, span, g, gn, b, value, tol, seen) =
  if gn == 0 { (true, seen, 0) } else if gn <= tol * (1 + abs(value)) and gn <= 0.1 * seen {
    (_vanishes_beside(x, g, b, tol, _change_over(vg, x, g, b, _own_size(x, span))), gn, 1)
  } else { (false, seen, 0) }
# Whether x is close to a minimum, by the gradient g and Hessian H. The Newton
# step must be a small part of v, the scale of the unknowns and their distance
# moved, or its predicted decrease must be below rounding.
_is_lowest(H, g, v, value, tol) = {
  # units in which each unknown has curvature 1, since rounding errors scale
  # with these
  curved = diag(H) > 0
  units = where(curved, 1 / sqrt(where(curved, diag(H), 1.0)), 1.0)
  (w, V) = eigh(H * outer(units, units))
  c = (units * g) @ V
  known = 1e-14 * len(v)
  step = c / max(w, known)
  short = all(abs(units * (V @ step)) <= max(1e-6, sqrt(tol)) * v)
  all(curved or g == 0) and all(w >= -known) and (short or c @ step < 1e-14 * abs(value))
}
# The Hessian by central differences of the gradient over fractions of v.
_curvatures(vg, x, v, b) = {
  H = map(k -> {
    e = 1e-4 * v * f64(iota(len(x)) == k)
    (there, back) = (_within(x + e, b), _within(x - e, b))
    way = norm(there - back)
    (vg(there)[1] - vg(back)[1]) / (if way > 0 { way } else { 1.0 })
  }, iota(len(x)))
  0.5 * (H + H')
}
# Classifies an end without convergence. If no step lowers f (status 2), this is
# rounding when the Hessian predicts no decrease. For many unknowns the Hessian
# is too expensive; then the gradient must be small relative to its change.
_judged(status, vg, x, span, g, gn, b, value, tol) = if status == 2 and len(x) <= 100 {
  free = f64(_free(x, g, b))
  v = _whole_size(x, span)
  H = _curvatures(vg, x, v, b) * outer(free, free)
  if _is_lowest(H, free * g, v, value, tol) { 1 } else { 2 }
} else if status == 2 {
  v = abs(x) + span
  change = _change_over(vg, x, g, b, v)
  # unknowns at 0 that have not moved have no scale over which the gradient
  # could change
  if norm(change) == 0 {
    v = v + 1
    change = _change_over(vg, x, g, b, v)
  }
  flat = gn^2 * norm(v) < 1e-14 * abs(value) * norm(change)
  if flat or _vanishes_beside(x, g, b, max(1e-6, sqrt(tol)), change) { 1 } else { 2 }
} else if status == 0 { 3 } else { status }
# The fraction of the direction d for the first step, when the curvature is
# unknown: a length of at most 1, but not negligible relative to x.
_first_length(x, d) =
  { n = norm(d); if n < 1e-6 * norm(x) { 1e-6 * norm(x) / n } else { min(1.0, 1 / n) } }
# f is unbounded below, or an accepted value is not finite.
_runs_away(value, gn) = not (abs(value) < inf and gn < inf)

# ---- stationary points that are not minima

# Runs run(x, steps). From a stationary point that is not a minimum (a maximum,
# saddle or inflection) it restarts at a lower point nearby. Each restart counts
# as a step, so it terminates.
_onwards(run, vg, x, b, steps) = {
  r = run(x, steps)
  at_rest = r -> r.status == 1 or r.gradient_norm == 0
  open = at_rest(r)
  while open {
    (value, g) = vg(r.x)
    (falls, place, count) = _lower_beside(vg, r.x, value, g, abs(r.x - x), b)
    q = if falls {
      run(place, max(steps - r.iterations - 1, 0))
    } else {
      (...r, iterations = 0, evaluations = 0)
    }
    k = r.iterations + (if falls { 1 + q.iterations } else { 0 })
    r = (...q, iterations = k, evaluations = r.evaluations + q.evaluations + count + 1)
    open = falls and at_rest(r)
  }
  r
}
# Whether f decreases near a stationary point x with gradient g by more than
# that gradient explains. The direction is that of the lowest curvature in a
# Krylov space of ten gradients (Lanczos), scaled by the unknowns' sizes; both
# signs are tried. Returns the answer, a lower point, and the number of
# evaluations.
_lower_beside(vg, x, value, g, span, b) = {
  n = len(x)
  k = min(n, 10)
  v = abs(x) + span
  v = where(v > 0, v, max(v))
  v = where(_free(x, g, b), where(v > 0, v, 1.0), 0.0)
  h = 1e-5
  Q = _like(zeros(k, n), x)
  T = _like(zeros(k, k), x)
  # a generic direction, without any symmetry
  q = where(v > 0, _like(sin(1.0 + iota(n)), x), 0.0)
  q = q / max(norm(q), 1e-300)
  for j in 0..k {
    Q[j] = q
    p = v * (vg(_within(x + h * v * q, b))[1] - g) / h
    p = where(abs(p) < inf, p, 0.0)
    c = Q @ p
    T[j] = c
    p = p - c @ Q
    p = p - (Q @ p) @ Q
    # only rounding is left
    spent = norm(p) <= 1e-12 * norm(c)
    q = where(spent, 0.0, p / where(spent, 1.0, norm(p)))
  }
  none_there = norm(Q; axis = 1) == 0
  (w, V) = eigh(0.5 * (T + T') + diag(where(none_there, 1 + 2 * max(abs(T)), 0.0)))
  u = V[.., 0] @ Q
  u = v * u / max(max(abs(u)), 1e-300)
  (falls, place, lowest, count) = (false, x, value, k)
  for t in [1e-2, -1e-2, 1e-4, -1e-4] {
    # shorter steps only where the curvature predicts a decrease
    if abs(t) > 1e-3 or (w[0] < 0 and not falls) {
      there = _within(x + _like(t * u, x), b)
      (v1, g1) = vg(there)
      (before, slope, drop) = (g @ (there - x), g1 @ (there - x), value - v1)
      # The decrease exceeds rounding, and f also decreases at that point, more
      # steeply than at x.
      if v1 < lowest and drop > 1e-13 * max(abs(value), abs(v1)) and drop > -0.02 * slope and
        slope < 2 * min(before, 0.0) {
        (falls, place, lowest) = (true, there, v1)
      }
      count = count + 1
    }
  }
  (falls, place, count)
}

# ---- line search

# Line search along x + a d from a = step: (x, value, gradient, evaluations,
# found). Without bounds it finds the strong Wolfe conditions by bracketing and
# cubic interpolation (Nocedal and Wright 2006, algorithms 3.5, 3.6). Where
# differences of f are rounding, the approximate conditions on derivatives apply
# (Hager and Zhang 2005, eq. 4.3). With bounds it requires sufficient decrease
# along the projected line.
_line_search(vg, x, d, value, g, step, curvature, b) =
  if kind(b.lower) == "none" {
    _wolfe(vg, x, d, value, g, step, curvature)
  } else {
    _bent(vg, x, d, value, g, step, b)
  }
_wolfe(vg, x, d, value, g, step, curvature) = {
  slope = g @ d
  noise = 1e-12 * (1e-300 + abs(value))
  (lo, flo, slo) = (0.0, value, slope)
  (hi, fhi, shi) = (inf, value, slope)
  a = step
  x1 = x
  v1 = value
  g1 = g
  (best_x, best_v, best_g) = (x, value, g)
  count = 0
  open = true
  found = false
  while open and count < 40 {
    x1 = x + a * d
    (v1, g1) = vg(x1)
    s1 = g1 @ d
    count = count + 1
    lower = v1 <= value + 1e-4 * a * slope
    found = (lower and abs(s1) <= -curvature * slope) or
      (v1 <= value + noise and s1 >= curvature * slope and s1 <= -0.8 * slope)
    open = not found
    if open {
      if v1 < best_v { best_x = x1; best_v = v1; best_g = g1 }
      if not (lower or v1 <= flo + noise) or (lo > 0 and v1 > flo + noise) or not (abs(s1) < inf) {
        (hi, fhi, shi) = (a, v1, s1)
      } else {
        if s1 * (hi - lo) >= 0 { (hi, fhi, shi) = (lo, flo, slo) }
        (lo, flo, slo) = (a, v1, s1)
      }
      if hi < inf {
        # cubic interpolation of values and derivatives, kept away from the ends
        w = hi - lo
        t1 = slo + shi - 3 * (fhi - flo) / w
        t2 = sqrt(max(t1^2 - slo * shi, 0.0)) * sign(w)
        guess = hi - w * (shi + t2 - t1) / (shi - slo + 2 * t2)
        inner = (guess - lo) / w
        a = lo + w * (if inner == inner { clamp(inner, 0.1, 0.9) } else { 0.3 })
        open = abs(w) > 1e-16 * abs(lo)
      } else { a = 4 * a }
    }
  }
  if found { (x1, v1, g1, count, true) } else { (best_x, best_v, best_g, count, best_v < value) }
}
_bent(vg, x, d, value, g, step, b) = {
  a = step
  x1 = clamp(x + a * d, b.lower, b.upper)
  (v1, g1) = vg(x1)
  count = 1
  while not (v1 <= value + 1e-4 * (g @ (x1 - x))) and count < 50 {
    # a parabola through value and derivative at 0 and the value here
    slope = g @ (x1 - x) / a
    guess = -slope * a^2 / (2 * (v1 - value - slope * a))
    a = if guess == guess { clamp(guess, 0.1 * a, 0.5 * a) } else { 0.1 * a }
    x1 = clamp(x + a * d, b.lower, b.upper)
    (v1, g1) = vg(x1)
    count = count + 1
  }
  (x1, v1, g1, count, v1 < value)
}

# ---- quasi-Newton

_bfgs(f, x, b, o, steps, tol) = if kind(b.lower) != "none" { _lbfgs(f, x, b, o, steps, tol) } else {
  vg = value_and_grad(f)
  (x0, span) = (x, 0 * x)
  (value, g) = vg(x)
  H = _like(eye(len(x)), x)
  (k, count) = (0, 1)
  (gn, seen) = (norm(g), inf)
  status = if _runs_away(value, gn) { 4 } else { 0 }
  fresh = true
  while status == 0 and k < steps {
    (rests, seen, more) = _at_rest(vg, x, span, g, gn, b, value, tol, seen)
    count = count + more
    if rests { status = 1 } else {
      d = -(H @ g)
      # rounding may have made the matrix indefinite
      if not (g @ d < 0) { H = _like(eye(len(x)), x); d = -g; fresh = true }
      (x1, v1, g1, n, found) =
        _wolfe(vg, x, d, value, g, if fresh { _first_length(x, d) } else { 1.0 }, 0.9)
      count = count + n
      k = k + 1
      if found {
        s = x1 - x
        q = g1 - g
        sq = s @ q
        if sq > 1e-14 * norm(s) * norm(q) {
          H = o.update(H, s, q, g, norm(s) / norm(d), fresh)
          fresh = false
        }
        x = x1
        span = max(span, abs(x - x0))
        value = v1
        g = g1
        gn = norm(g)
        if _runs_away(value, gn) { status = 4 }
      } else { if fresh { status = 2 } else { H = _like(eye(len(x)), x); fresh = true } }
      if o.progress { progress(k, steps; value = value) }
    }
  }
  _ended(vg, x, span, g, gn, b, value, tol, status, k, count)
}
# The result of a method that stops at x after k steps, with a last test of the
# gradient.
_ended(vg, x, span, g, gn, b, value, tol, status, k, count) = {
  rests = if status == 0 { _at_rest(vg, x, span, g, gn, b, value, tol, inf)[0] } else { false }
  (x = x, value = value, gradient_norm = gn, iterations = k, evaluations = count,
    status = if rests { 1 } else { _judged(status, vg, x, span, g, gn, b, value, tol) })
}

# BFGS update of the inverse Hessian after a step s = length * (-H g) that
# changed the gradient g by q. fresh: H was an initial guess.
_bfgs_update(H, s, q, g, length, fresh) = {
  sq = s @ q
  H = if fresh { (sq / (q @ q)) * H } else { H }
  Hq = H @ q
  H + ((1 + (q @ Hq) / sq) / sq) * outer(s, s) - (outer(Hq, s) + outer(s, Hq)) / sq
}

# Self-scaled Broyden: a member of the Broyden class and a scaling of the old
# matrix, both chosen at each step (Al-Baali 1998; Al-Baali and Khalfan 2005;
# for networks: Urbán, Stefanou and Pons 2025).
_ssbroyden_update(H, s, q, g, length, fresh) = {
  n = max(2, len(s))
  r = 1 / (s @ q)
  Hq = H @ q
  qHq = q @ Hq
  (h, b) = (qHq * r, -length * r * (s @ g))
  a = max(b * h - 1, 1e-14)
  lower = min(1.0, h * (1 - sqrt(a / (1 + a))))
  θ = max((lower - 1) / a, min(1 / lower, (1 - b) / b))
  σ = max(1 + θ * a, 1e-14)
  root = σ^(1.0 / (1 - n))
  ρ = min(1.0, 1 / b)
  τ = if fresh { h / σ } else if θ <= 0 { min(ρ * root, σ) } else { ρ * min(root, 1 / θ) }
  v = s * r - Hq / qHq
  (H - outer(Hq, Hq) / qHq + (1 - θ) / σ * qHq * outer(v, v)) / τ + r * outer(s, s)
}

# Pairs with too little curvature are skipped; of the others only the components
# of free unknowns are used.
_lbfgs(f, x, b, o, steps, tol) = {
  vg = value_and_grad(f)
  (x0, span) = (x, 0 * x)
  (value, g) = vg(x)
  n = len(x)
  M = o.memory
  S = _like(zeros(M, n), x)
  Y = _like(zeros(M, n), x)
  stored = 0
  (k, count) = (0, 1)
  (gn, seen) = (_slope_left(x, g, b), inf)
  status = if _runs_away(value, gn) { 4 } else { 0 }
  while status == 0 and k < steps {
    (rests, seen, more) = _at_rest(vg, x, span, g, gn, b, value, tol, seen)
    count = count + more
    if rests { status = 1 } else {
      free = _like(f64(_free(x, g, b)), x)
      q = free * g
      alpha = _like(zeros(M), x)
      m = min(stored, M)
      for i in 0..m {
        j = (stored - 1 - i) % M
        sy = S[j] @ (free * Y[j])
        a = if sy > 1e-14 * norm(S[j]) * norm(Y[j]) { (S[j] @ q) / sy } else { 0.0 }
        q = q - a * (free * Y[j])
        alpha[j] = a
      }
      if m > 0 {
        j = (stored - 1) % M
        sy = S[j] @ (free * Y[j])
        yy = sum((free * Y[j])^2)
        if sy > 1e-14 * yy { q = q * (sy / yy) }
      }
      for i in 0..m {
        j = (stored - m + i) % M
        sy = S[j] @ (free * Y[j])
        c = if sy > 1e-14 * norm(S[j]) * norm(Y[j]) { (Y[j] @ q) / sy } else { 0.0 }
        q = q + (free * S[j]) * (alpha[j] - c)
      }
      d = -(free * q)
      if not (g @ d < 0) { d = -(free * g); stored = 0 }
      step = if stored > 0 { 1.0 } else { _first_length(x, d) }
      (x1, v1, g1, more, found) = _line_search(vg, x, d, value, g, step, 0.9, b)
      count = count + more
      k = k + 1
      if found {
        s = x1 - x
        y = g1 - g
        if s @ y > 1e-14 * norm(s) * norm(y) {
          j = stored % M
          S[j] = s
          Y[j] = y
          stored = stored + 1
        }
        x = x1
        span = max(span, abs(x - x0))
        value = v1
        g = g1
        gn = _slope_left(x, g, b)
        if _runs_away(value, gn) { status = 4 }
      } else { if stored > 0 { stored = 0 } else { status = 2 } }
      if o.progress { progress(k, steps; value = value, gradient = gn) }
    }
  }
  _ended(vg, x, span, g, gn, b, value, tol, status, k, count)
}

# Hager and Zhang's conjugate gradient method: beta = (y - 2 d |y|^2 / d'y)' g /
# d'y, at least -1/(|d| min(0.01, |g|)).
_nonlinear_cg(f, x, b, o, steps, tol) =
  if kind(b.lower) != "none" { _lbfgs(f, x, b, o, steps, tol) } else {
    vg = value_and_grad(f)
    (x0, span) = (x, 0 * x)
    (value, g) = vg(x)
    d = -g
    (gn, seen) = (norm(g), inf)
    step = _first_length(x, d)
    (k, count) = (0, 1)
    status = if _runs_away(value, gn) { 4 } else { 0 }
    restarted = true
    while status == 0 and k < steps {
      (rests, seen, more) = _at_rest(vg, x, span, g, gn, b, value, tol, seen)
      count = count + more
      if rests { status = 1 } else {
        (x1, v1, g1, n, found) = _wolfe(vg, x, d, value, g, step, 0.1)
        count = count + n
        k = k + 1
        if found {
          y = g1 - g
          dy = d @ y
          beta =
            max((y @ g1 - 2 * (y @ y) * (d @ g1) / dy) / dy, -1 / (norm(d) * min(0.01, norm(g))))
          next = if beta == beta { -g1 + beta * d } else { -g1 }
          d1 = if g1 @ next < 0 { next } else { -g1 }
          # the same first-order change as in the last step
          step = norm(x1 - x) / norm(d) * clamp((g @ d) / (g1 @ d1), 1e-3, 1e3)
          restarted = false
          d = d1
          x = x1
          span = max(span, abs(x - x0))
          value = v1
          g = g1
          gn = norm(g)
          if _runs_away(value, gn) { status = 4 }
        } else {
          if restarted { status = 2 } else { d = -g; step = _first_length(x, d); restarted = true }
        }
        if o.progress { progress(k, steps; value = value) }
      }
    }
    _ended(vg, x, span, g, gn, b, value, tol, status, k, count)
  }

# ---- first-order methods

# Step k, from 1, with gradient g: returns the new x and the method's new state.
# The state is opaque; it begins with o.start(x, matrices).
_first_order_step(o, x, state, g, k) = {
  rate = if kind(o.rate) == "function" { o.rate(k) } else { o.rate }
  (state, d) = o.update(state, g, k, o.matrices)
  (x - rate * (d + o.decay * x), state)
}
_first_order(f, x, b, o, steps, tol) = {
  state = o.start(x, o.matrices)
  vg = value_and_grad(f)
  (x0, span) = (x, 0 * x)
  (value, g) = vg(x)
  (gn, seen) = (_slope_left(x, g, b), inf)
  (k, count) = (0, 1)
  status = if _runs_away(value, gn) { 4 } else { 0 }
  while status == 0 and k < steps {
    (rests, seen, more) = _at_rest(vg, x, span, g, gn, b, value, tol, seen)
    if rests { status = 1 } else {
      k = k + 1
      (x1, state) = _first_order_step(o, x, state, g, k)
      x = _within(x1, b)
      span = max(span, abs(x - x0))
      (value, g) = vg(x)
      gn = _slope_left(x, g, b)
      if _runs_away(value, gn) { status = 4 }
      if o.progress { progress(k, steps; value = value, gradient = gn) }
    }
    count = count + more + 1
  }
  (x = x, value = value, gradient_norm = gn, iterations = k, evaluations = count,
    status = if status == 0 { 3 } else { status })
}

# SOAP: the running mean of gradients, that of their squares in the eigenbasis,
# and for each matrix the running means of G G' and G'G with their eigenvectors.
_soap_start(x, matrices, largest) = (zeros_like(x), zeros_like(x), map(at -> {
  side = n -> if n <= largest { n } else { 0 }
  (r, c) = (side(at[1]), side(at[2]))
  (L = _like(zeros(r, r), x), R = _like(zeros(c, c), x), U = _like(eye(r), x), V = _like(eye(c), x))
}, matrices))
_soap_update(s, g, k, matrices, o) = {
  (m, v, sides) = s
  if k == 1 {
    sides = map((side, at) -> { G = _matrix_of(g, at); _soap_begin(side, G, o) }, sides, matrices)
  }
  h = _soap_turned(g, sides, matrices, true)
  m = o.beta1 * m + (1 - o.beta1) * g
  v = o.beta2 * v + (1 - o.beta2) * h^2
  q = 1.0 * k
  d = (_soap_turned(m, sides, matrices, true) / (1 - o.beta1^q)) /
    (sqrt(v / (1 - o.beta2^q)) + 1e-8)
  d = _soap_turned(d, sides, matrices, false)
  if k > 1 {
    sides = map((side, at) -> {
      G = _matrix_of(g, at)
      (...side, L = _soap_mean(side.L, G, o), R = _soap_mean(side.R, G', o))
    }, sides, matrices)
  }
  if k % o.every == 0 {
    # eigenvectors are updated by one orthogonal iteration, in descending order,
    # and the squares are permuted with them
    for (i, at) in enumerate(matrices) {
      (U, rows) = _soap_follow(sides[i].L, sides[i].U, at[1])
      (V, columns) = _soap_follow(sides[i].R, sides[i].V, at[2])
      v[at[0]..at[0] + at[1] * at[2]] = ravel(_matrix_of(v, at)[rows][.., columns])
      sides[i] = (...sides[i], U = U, V = V)
    }
  }
  ((m, v, sides), d)
}
_matrix_of(x, at) = reshape(x[at[0]..at[0] + at[1] * at[2]], at[1], at[2])
_soap_mean(L, G, o) = if len(L) == 0 { L } else { o.beta2 * L + (1 - o.beta2) * (G @ G') }
_soap_begin(side, G, o) = {
  (L, R) = (_soap_mean(side.L, G, o), _soap_mean(side.R, G', o))
  (L = L, R = R, U = if len(L) == 0 { side.U } else { eigh(L)[1] },
    V = if len(R) == 0 { side.V } else { eigh(R)[1] })
}
_soap_follow(L, U, n) = if len(L) == 0 { (U, iota(n)) } else {
  order = argsort(sum(U * (L @ U); axis = 0); descending = true)
  (qr(L @ U[.., order])[0], order)
}
# Transforms the matrices in a parameter vector to their eigenbasis, or back.
_soap_turned(x, sides, matrices, there) = {
  for (i, at) in enumerate(matrices) {
    (a, r, c) = at
    (X, U, V) = (reshape(x[a..a + r * c], r, c), sides[i].U, sides[i].V)
    X = if len(U) == 0 { X } else if there { U' @ X } else { U @ X }
    X = if len(V) == 0 { X } else if there { X @ V } else { X @ V' }
    x[a..a + r * c] = ravel(X)
  }
  x
}

# ---- simplex method

# The rows of X are the corners of the simplex, unordered. The coefficients 1, 1
# + 2/n, 3/4 - 1/(2n), 1 - 1/n of Gao and Han are those of reflection,
# expansion, contraction and shrinking. Points beyond a bound are projected on
# it.
_nelder_mead(f, x, b, o, steps, tol) = {
  n = len(x)
  at = w -> { v = f(_within(w, b)); if v == v { v } else { inf } }
  d = 1.0 * max(n, 2)
  X = expand(x, 0) + concat(0 * expand(x, 0), diag(o.size * (1 + abs(x))))
  X = if kind(b.lower) == "none" { X } else {
    # a corner that a bound would project onto the start is reflected
    inside = clamp(X, expand(b.lower, 0), expand(b.upper, 0))
    where(inside == expand(x, 0) and X != expand(x, 0), 2 * expand(x, 0) - X, inside)
  }
  F = map(at, X)
  (k, count) = (0, n + 1)
  # the tolerance for values; the minimum is then known to its square root
  enough = max(tol^2, 1e-16)
  while k < steps and not (max(F) - min(F) <= enough * (1e-300 + abs(min(F))) and
    max(abs(X - expand(X[argmin(F)], 0))) <=
    sqrt(enough) * (1 + norm(x))) and max(abs(X - expand(X[0], 0))) > 1e-15 * norm(X[0]) {
    worst = argmax(F)
    best = min(F)
    # the second worst corner
    second = max(where(iota(n + 1) == worst, -inf, F))
    centre = (sum(X; axis = 0) - X[worst]) / n
    away = centre - X[worst]
    xr = _within(centre + away, b)
    fr = at(xr)
    count = count + 1
    if fr < best {
      xe = _within(centre + (1 + 2 / d) * away, b)
      fe = at(xe)
      count = count + 1
      if fe < fr { X[worst] = xe; F[worst] = fe } else { X[worst] = xr; F[worst] = fr }
    } else {
      if fr < second { X[worst] = xr; F[worst] = fr } else {
        c = 0.75 - 0.5 / d
        xc = _within(if fr < F[worst] { centre + c * away } else { centre - c * away }, b)
        fc = at(xc)
        count = count + 1
        if fc < min(fr, F[worst]) { X[worst] = xc; F[worst] = fc } else {
          lead = X[argmin(F)]
          X = expand(lead, 0) + (1 - 1 / d) * (X - expand(lead, 0))
          F = map(at, X)
          count = count + n + 1
        }
      }
    }
    k = k + 1
    if o.progress { progress(k, steps; value = F[worst]) }
  }
  best = argmin(F)
  status = if not (abs(F[best]) < inf) { 4 } else if k < steps { 1 } else { 3 }
  (x = _within(X[best], b), value = F[best], gradient_norm = nan, iterations = k,
    evaluations = count, status = status)
}
