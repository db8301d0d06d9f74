# oscillatory.dsl - integrals of oscillating functions of one variable,
# differentiable as integrals.
#
# Method: collocation of p' + i phase' p = f where the phase varies rapidly
# (Levin, Math. Comp. 38, 1982), and Gauss-Kronrod quadrature elsewhere
# (quad.dsl). Integrals to infinity are the limits of sums over half periods, by
# the epsilon algorithm (Wynn 1956).

# oscillatory(f, phase, a, b; part = "exp", rtol, atol, limit): integral of f(x)
# exp(i phase(x)) from a to b; with part = "cos" or "sin" that of f(x)
# cos(phase(x)) or f(x) sin(phase(x)).
#   phase: a scalar ω, for ω x, or a function. f takes a scalar and returns a
#   real or complex scalar. The cost does not grow with the phase. a and b may
#   be infinite if the phase is ω x and f finally decays to 0 without
#   oscillating.
#   Method: where the phase varies rapidly, p' + i phase' p = f is solved by
#   collocation at 17 Chebyshev points (Levin), on adaptively halved intervals.
#   The first periods after a and before b, and slowly varying parts, are
#   integrated as by integrate, so f may be infinite at the ends. Peaks of f are
#   searched at the points of integrate. To infinity, integrals over half
#   periods are extrapolated by the epsilon algorithm.
#   Derivatives of every order with respect to values that f and phase capture
#   and to a and b use the intervals found. [Levin, Math. Comp. 38, 1982; Chen,
#   Serkh and Bremer 2022; Wynn 1956]
#     oscillatory(x -> 1 / (1 + x), 1000.0, 0, 1; part = "cos")    #~ 4.142989629867e-4 tol 1e-12
#     oscillatory(x -> 1 / x, 1.0, 0, inf; part = "sin")  #~ π/2 tol 1e-9
#     oscillatory(x -> exp(-x^2), 2.0, -inf, inf; part = "cos")   #~ sqrt(π) / e tol 1e-9
oscillatory(f, phase, a, b; part = "exp", rtol = 1e-10, atol = 1e-15, limit = 400) = {
  (a, b) = (a + 0.0, b + 0.0)
  o = (part = part, rtol = rtol, atol = atol, limit = limit)
  over = f -> if kind(phase) == "function" {
    assert(abs(a) < inf and abs(b) < inf,
      "oscillatory: to infinity the phase is a number, ω for ω x")
    _oscillating(f, phase, a, b, true, o)
  } else { _oscillating_far(f, phase + 0.0, a, b, o) }
  # the cos or sin part of a complex f: by its real and imaginary parts
  if part != "exp" and _is_complex(0 * f(stop_gradient(_on_the_way(a, b, 0.5)))) {
    over(x -> real(f(x))) + im * over(x -> imag(f(x)))
  } else { over(f) }
}
# Reduces infinite intervals to ones from a finite point to +infinity.
_oscillating_far(f, omega, a, b, o) = {
  (up, back) = (_oscillating_on, x -> f(-x))
  if abs(a) < inf and abs(b) < inf { _oscillating(f, x -> omega * x, a, b, true, o) }
  else if a == b { 0 * _oscillating(f, x -> omega * x, 0.25, 0.75, false, o) }
  else if abs(a) == inf and abs(b) == inf {
    (if a < b { 1.0 } else { -1.0 }) * (up(f, omega, 0.0, o) + up(back, -omega, 0.0, o))
  } else if abs(b) == inf { if a < b { up(f, omega, a, o) } else { -up(back, -omega, -a, o) } }
  else { if a < b { up(back, -omega, -b, o) } else { -up(f, omega, b, o) } }
}
# The integral between finite ends. Intervals are chosen without derivatives;
# the sum over them has derivatives. look = false is for short parts of a smooth
# tail: neither ends nor sample points get special treatment.
_oscillating(f, g, a, b, look, o) = {
  (p, q) = (stop_gradient(a), stop_gradient(b))
  (first, last) = if not look { (0.0, 0.0) } else if _turn(g, p, q - p) < 20 { (1.0, 0.0) } else {
    (_first_turns(g, p, q - p), _first_turns(g, q, p - q))
  }
  seen = x -> f(x) * _wave(g(x), o.part)
  at = (from, to) -> _as_oscillating(_integral(x -> _parts_as_reals(seen(x)), from, to,
    (rtol = 0.25 * o.rtol, atol = 0.25 * o.atol, limit = 600, rule = "gauss_kronrod")),
    seen(_on_the_way(p, q, 0.5)))
  nothing = (value = 0.0 * seen(_on_the_way(p, q, 0.5)), error = 0.0)
  # the ends themselves are passed, so that their derivatives are not mixed
  begin = if first == 1 {
    at(a, b)
  } else if first > 0 {
    at(a, a + (b - a) * first)
  } else {
    nothing
  }
  end = if last > 0 { at(b - (b - a) * last, b) } else { nothing }
  if first == 1 or a == b { begin.value } else {
    known = (value = stop_gradient(begin.value + end.value),
      error = stop_gradient(begin.error + end.error),
      size = stop_gradient((abs(begin.value) + abs(end.value)) * (1 + max(abs(g(p)), abs(g(q))))))
    (left, width) = _panels(f, g, p, q, first, 1 - first - last, known, look, o)
    begin.value + end.value +
      sum(map((l, w) -> _levin_panel(f, g, a + (b - a) * l, (b - a) * w, o.part)[0], left, width))
  }
}
# integrate takes real values.
_parts_as_reals(v) = if _is_complex(v) { stack(real(v), imag(v)) } else { v }
_as_oscillating(r, like) =
  (value = if _is_complex(like) { r.value[0] + im * r.value[1] } else { r.value }, error = r.error)
# The variation of the phase on an interval, if it changes direction at most
# once.
_turn(g, l, w) =
  abs(stop_gradient(g(l + w) - g(l))) + abs(stop_gradient(g(l + w) + g(l) - 2 * g(l + 0.5 * w)))
# The fraction of the way from l in which the phase varies by at most 10; 0 if
# rounding does not separate it from l.
_first_turns(g, l, w) = {
  t = 0.25
  while _turn(g, l, t * w) > 10 and abs(t * w) > 1e-14 * abs(l) + 1e-290 { t = 0.5 * t }
  if abs(t * w) > 1e-14 * abs(l) + 1e-290 { t } else { 0.0 }
}
# The panels (left, width) from `first` on, as fractions of the way, that meet
# the tolerance. known: the value, error and size of the parts outside the
# panels.
_panels(f, g, a, b, first, whole, known, look, o) = {
  (part, rtol, atol, limit) = (o.part, o.rtol, o.atol, o.limit)
  at = (l, w) -> {
    (I, E, top) = _levin_panel(f, g, a + (b - a) * l, (b - a) * w, part);
    (stop_gradient(I), stop_gradient(E), stop_gradient(top))
  }
  first_of = v -> concat([1.0], zeros(limit)) * v
  left = first_of(first)
  width = first_of(whole)
  (I, E, top) = at(first, whole)
  parts = first_of(I)
  errors = first_of(E)
  tops = first_of(top)
  (shares, values) =
    if look { _sizes_at_places(f, a, b, first, whole) } else { (zeros(0), zeros(0)) }
  rough = 0.0
  n = 1
  open = a != b
  while open {
    total = sum(parts) + known.value
    if not (abs(total) < inf) {
      error("oscillatory: the function is infinite or NaN between {a} and {b}")
    }
    # includes the rounding of phases
    tolerance = max(max(atol, rtol * abs(total)), 1e-14 * (sum(abs(parts)) + known.size))
    miss = sum(errors) + rough + known.error
    k = argmax(errors)
    open = miss > tolerance
    if not open and look {
      # f at a sample point is ten times as large as at all nodes of its panel,
      # and the contribution exceeds the tolerance
      order = argsort(where(iota(limit + 1) < n, left, inf))
      panel = order[clamp(searchsorted(left[order][..n], shares) - 1, 0, n - 1)]
      hidden = where(values > 10 * tops[panel], values * width[panel] * abs(b - a), 0.0)
      if len(hidden) > 0 {
        if max(hidden) > tolerance { open = true; k = panel[argmax(hidden)] }
      }
    }
    if open {
      if n > limit or errors[k] == 0 and miss > tolerance {
        error(
          "oscillatory: the tolerance is not reached between {a} and {b} with {n} intervals, the "
          "last near {a + (b - a) * left[k]}; the error is estimated to be {miss:.1e}")
      }
      w = 0.5 * width[k]
      (I1, E1, top1) = at(left[k], w)
      (I2, E2, top2) = at(left[k] + w, w)
      left[n] = left[k] + w
      width[k] = w
      width[n] = w
      parts[k] = I1
      parts[n] = I2
      tops[k] = top1
      tops[n] = top2
      # a panel with the accuracy of rounding, or too short to be halved, is not
      # refined again
      short = w < 1e-15
      rough = rough + (if short { E1 + E2 } else { 0.0 })
      errors[k] = if short or E1 <= 1e-15 * abs(I1) { 0.0 } else { E1 }
      errors[n] = if short or E2 <= 1e-15 * abs(I2) { 0.0 } else { E2 }
      n = n + 1
    }
  }
  (left[..n], width[..n])
}
# (Fractions of the way, |f| there) at the sample points of integrate; denser
# ones if all values are 0.
_sizes_at_places(f, a, b, first, whole) = {
  ends = _ends(a, b)
  at = q -> {
    x = _place_at(ends, q)[0]
    t = (x - a) / (b - a)
    size = x -> { v = abs(f(x)); stop_gradient(where(v < inf, v, 0.0)) }
    (t, map((x, t) -> where(t > first and t < first + whole, size(x), 0.0), x, t))
  }
  (t, v) = at(_tried(ends))
  if max(v) > 0 { (t, v) } else { at(_tried_densely(ends)) }
}
# One interval: (integral, error estimate, largest value of f at nodes).
_levin_panel(f, g, l, w, part) = {
  if _turn(g, l, w) < 10 {
    x = l + 0.5 * w * (1 + _kronrod_nodes)
    v = map(f, x)
    values = map((x, s) -> s * _wave(g(x), part), x, v)
    I = 0.5 * w * (_kronrod_weights @ values)
    (I, abs(I - 0.5 * w * (_gauss_weights @ values)), max(abs(v)))
  } else {
    x = l + 0.5 * w * (1 + _levin_nodes)
    v = map(f, x)
    slope = map(x -> jvp(g, x, 1.0)[1], x)
    I = _levin(v, slope, g(l + w), g(l), w, _levin_matrix, part)
    # every other point
    J = _levin(v[.. by 2], slope[.. by 2], g(l + w), g(l), w, _levin_matrix_half, part)
    (I, abs(I - J), max(abs(v)))
  }
}
_wave(phase, part) =
  if part == "exp" {
    exp(im * phase)
  } else if part == "cos" {
    cos(phase)
  } else if part == "sin" {
    sin(phase)
  } else {
    error("oscillatory: a part is \"exp\", \"cos\" or \"sin\"")
  }
_levin(v, slope, right, left, w, D, part) = {
  p = linsolve((2 / w) * D + im * diag(slope), v + 0im)
  if part == "exp" {
    p[-1] * exp(im * right) - p[0] * exp(im * left)
  } else if part == "cos" {
    real(p[-1]) * cos(right) - imag(p[-1]) * sin(right) - real(p[0]) * cos(left) +
      imag(p[0]) * sin(left)
  } else {
    real(p[-1]) * sin(right) + imag(p[-1]) * cos(right) - real(p[0]) * sin(left) -
      imag(p[0]) * cos(left)
  }
}
_chebyshev_points(n) = -cos(π * iota(n + 1) / n)
# Differentiation matrix at Chebyshev points (Trefethen, Spectral Methods in
# MATLAB, 2000, chapter 6), with the diagonal from row sums.
_chebyshev_slopes(n) = {
  x = _chebyshev_points(n)
  i = iota(n + 1)
  c = where(i == 0 or i == n, 2.0, 1.0) * where(i % 2 == 0, 1.0, -1.0)
  D = outer(c, 1 / c) / (expand(x, 1) - x + eye(n + 1))
  D - diag(sum(D; axis = 1))
}
_levin_nodes = _chebyshev_points(16)
_levin_matrix = _chebyshev_slopes(16)
_levin_matrix_half = _chebyshev_slopes(8)

# Integral to infinity: sums over steps of three half periods, extrapolated by
# Wynn's epsilon algorithm. The first sum ends after the sampled peaks of f, a
# multiple of the step from a.
_oscillating_on(f, omega, a, o) = {
  g = x -> omega * x
  if not (abs(omega) < inf) {
    error("oscillatory: the phase is ω x with a finite number ω, not {omega}")
  }
  still = abs(omega) < 1e-290
  step = 3 * π / where(still, 1.0, abs(omega))
  most = 60
  sums = 0im * zeros(most)
  total = 0im
  # f in pieces of growing length, so that features near a are resolved
  from = a
  to = a + step * max(1, ceil(_last_rise(f, stop_gradient(a)) / stop_gradient(step)))
  long = 1e6 * max(1, stop_gradient(abs(a)))
  while stop_gradient(to - from) > long and not still {
    total = total + _oscillating(f, g, from, from + long, true, o)
    from = from + long
    long = 1e3 * long
  }
  total = if still {
    1im * 0 + _integral(x -> f(x) * _wave(0.0 * x, o.part), a, inf,
      (...o, limit = 600, rule = "gauss_kronrod")).value
  } else {
    total + _oscillating(f, g, from, to, true, o)
  }
  sums[0] = total
  best = total
  found = still
  k = 1
  first = inf
  last = inf
  while not found and k < most {
    more = _oscillating(f, g, to + (k - 1) * step, to + k * step, false,
      (...o, atol = o.atol + 1e-16 * abs(stop_gradient(best))))
    total = total + more
    sums[k] = total
    k = k + 1
    size = abs(stop_gradient(more))
    if k == 2 { first = size }
    # The algorithm assigns limits to sums that do not decay, but the integral
    # does not exist.
    if k >= 5 and k % 2 == 1 and size < 0.999999 * first or size == 0 {
      next = _epsilon(sums[..k])
      change = abs(stop_gradient(next - best))
      asked = max(o.atol, 0.1 * o.rtol * abs(stop_gradient(next)))
      found = change <= asked and last <= 100 * asked or size <= 1e-17 * abs(stop_gradient(total))
      best = next
      last = change
    }
  }
  if not found { error("oscillatory: no convergence to infinity; does the function fall to 0?") }
  if _is_complex(0 * _wave(a, o.part)) { best } else { real(best) }
}
# The distance from a of the last sample point at which f has doubled since its
# last minimum.
_last_rise(f, a) = {
  y =
    sort(concat(_halvings(-50, -2), 0.2 * (1 + iota(50)), iota(90) + 11.0,
      100 * 1.02^(1.0 + iota(115)), _halvings(10, 30), 10.0^(3.0 + iota(7))))
  v = map(y -> { v = abs(stop_gradient(f(a + y))); where(v < inf, v, 0.0) }, y)
  # the minimum of the last descent
  low = v[0]
  far = 0.0
  for i in 1..len(y) {
    if v[i] > v[i - 1] {
      if v[i] > 2 * low and v[i] > 1e-30 * max(v) { far = y[i] }
    } else { low = if v[i - 1] > v[max(i - 2, 0)] { v[i] } else { min(low, v[i]) } }
  }
  1.02 * far
}
