# tanh_sinh.dsl - double exponential quadrature, for smooth functions with poles
# at the ends.
#
# Method: the trapezoidal rule after a change of variables by which the
# integrand decays double exponentially (Takahasi and Mori, Publ. RIMS 9, 1974).
# For an analytic integrand each halving of the step doubles the number of
# correct digits.
#
# Contract: _tanh_sinh returns what _globally does (gauss_kronrod.dsl). Its
# error includes the part beyond the last points. A tolerance that is not
# reached after 12 levels is an error.

# The trapezoidal rule over t = j h of f(x(t)) x'(t), where x' decays double
# exponentially: x = tanh(π/2 sinh t) between a and b, exp(π/2 sinh t) to
# infinity, sinh(π/2 sinh t) in both directions. h is halved until two sums
# agree; the last one is then much more accurate. Points are computed by their
# distance from the nearer end.
_tanh_sinh(f, a, b, o) = {
  both = abs(a) == inf and abs(b) == inf
  up = not both and abs(b) == inf
  down = not both and abs(a) == inf
  way = if a < b { 1.0 } else { -1.0 }
  g = t -> {
    s = 1.5707963267948966 * sinh(t)
    ds = 1.5707963267948966 * cosh(t)
    # the fraction of the way from the nearer end, and its derivative
    near = 1 / (1 + exp(2 * abs(s)))
    x = if both {
      way * sinh(s)
    } else if up {
      a + way * exp(s)
    } else if down {
      b - way * exp(-s)
    } else {
      if s < 0 { a + (b - a) * near } else { b - (b - a) * near }
    }
    w = if both {
      way * cosh(s) * ds
    } else if up {
      way * exp(s) * ds
    } else if down {
      way * exp(-s) * ds
    } else {
      (b - a) * 2 * near * (1 - near) * ds
    }
    # at the ends, reached by rounding, the weight has vanished
    v = f(if x == a or x == b {
      0.5 * (if abs(a) < inf { a } else { 0.0 }) + 0.5 * (if abs(b) < inf { b } else { 0.0 }) + 0.25
    } else {
      x
    })
    where(x == a or x == b or not (w < inf and w > -inf) or w == 0, 0 * _finite(v), v * w)
  }
  like = 0 * _finite(g(0.1))
  # beyond this extent exp(2|s|) overflows
  extent = if both or up or down { 6.0 } else { 6.1 }
  n = 6
  h = extent / n
  points = h * (iota(2 * n + 1) - n)
  values = reshape(map(g, points), len(points), size(like))
  total = h * sum(values; axis = 0)
  count = 2 * n + 1
  level = 1
  (miss, change, former) = (inf, inf, inf)
  # as functions of t: the sizes at nodes, and at the points that integrate
  # samples
  tops = max(abs(values); axis = 1)
  at = _steps_of_places(a, b)
  seen = if a == b { 0.0 * at } else { _sizes_between(g, at, size(like)) }
  # The remainder beyond the last points on both sides, which rounding or
  # overflow limits: u = f dx/ds falls as a power of exp(s). Two of the last
  # values determine the power, whose integral is known.
  edges = 60
  behind = way -> {
    t = way * extent / edges * (1 + iota(edges))
    v = max(abs(reshape(map(g, t), edges, size(like))); axis = 1)
    i = max(max(where(v > 0, iota(edges), 0)), 4)
    s = t -> 1.5707963267948966 * sinh(abs(t))
    u = k -> v[k] / cosh(t[k])
    fall = log(max(u(i - 4), 1e-300) / max(u(i), 1e-300)) / (s(t[i]) - s(t[i - 4]))
    if v[i] == 0 { 0.0 } else if fall > 0 { u(i) / 1.5707963267948966 / fall } else { inf }
  }
  lost = if a == b { 0.0 } else { behind(1.0) + behind(-1.0) }
  open = a != b
  while open {
    h = 0.5 * h
    n = 2 * n
    last = total
    values = reshape(map(g, h * (2 * iota(n) + 1 - n)), n, size(like))
    total = 0.5 * total + h * sum(values; axis = 0)
    count = count + n
    # interleave old and new nodes
    tops = concat(ravel(stack(tops[..-1], max(abs(values); axis = 1); axis = 1)), tops[-1..])
    (oldest, former, change) = (former, change, max(abs(total - last)))
    if not (change < inf) {
      error("integrate: the function, or its integral, is infinite or NaN between {a} and {b}")
    }
    # The error is the square of the change when the last two iterations showed
    # quadratic convergence. Otherwise, as at a kink, it decreases by a ratio.
    whole = max(max(abs(total)), 1e-300)
    doubled = (p, q) -> q < whole * (p / whole)^1.5
    miss = if level < 3 { change } else if doubled(former, change) and doubled(oldest, former) {
      max(min(change, 10 * change^2 / whole), 1e-16 * whole)
    } else { max(change, 0.125 * former) }
    miss = miss + lost
    level = level + 1
    tolerance = max(max(o.atol, o.rtol * max(abs(total))), 1e-15 * max(abs(total)))
    # a value half as large again as at both neighbouring nodes: a peak between
    # them
    left = clamp(i64(floor(at / h)) + n, 0, 2 * n - 1)
    peak = max(where(seen > 1.5 * max(tops[left], tops[left + 1]), seen * h, 0.0))
    miss = if peak > tolerance { max(miss, peak) } else { miss }
    open = miss > tolerance
    if open and level > 3 and lost > max(o.atol, o.rtol * max(abs(total))) {
      error(
        "integrate: what is left out at the ends of {a} to {b}, which the numbers set, is "
        "estimated to be {lost:.1e}; \"gauss_kronrod\" extrapolates there")
    }
    if open and level > 12 {
      error(
        "integrate: the tolerance is not reached between {a} and {b}; the error is estimated to be "
        "{miss:.1e}. \"gauss_kronrod\" is for kinks and peaks")
    }
  }
  (value = reshape(if a == b { 0 * total } else { total }, shape(like)), error = miss,
    evaluations = count + 2 * edges + len(at))
}
# The t of the points that integrate samples (_tried).
_steps_of_places(a, b) = {
  both = abs(a) == inf and abs(b) == inf
  ends = if both { _ends(0.0, inf) } else { _ends(a, b) }
  q = _tried(ends)
  z = abs(q)
  far = 4 * log(where(q > 0, z, 1 / z))
  s = if both { asinh(exp(far)) } else if ends.up { far } else if ends.down { -far } else {
    part = _part_behind(z)
    where(q > 0, -0.5, 0.5) * log(1 / part - 1)
  }
  t = asinh(s / 1.5707963267948966)
  clamp(if both { concat(t, -t) } else { t }, -6.0, 6.0)
}
_finite(v) = where(abs(v) < inf, v, 0 * stop_gradient(where(abs(v) < inf, v, 1.0)))
