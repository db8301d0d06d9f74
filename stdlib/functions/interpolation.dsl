# interpolation.dsl - interpolation in one variable: piecewise linear and cubic
# functions, and polynomials. interpolation_nd.dsl has several variables.

# For each v the number of elements of the ascending vector a that are <= v.
# Bisection, O(log len(a)) each.
_count_up_to(a, v) = {
  low = i64(0 * v)
  high = low + len(a)
  while any(low < high) {
    mid = (low + high) // 2
    open = low < high
    up = open and a[min(mid, len(a) - 1)] <= v
    low = where(up, mid + 1, low)
    high = where(open and not up, mid, high)
  }
  low
}
# The index of the left end of the knot interval that contains each x.
_interval(xs, x) = clamp(_count_up_to(xs, stop_gradient(x)), 1, len(xs) - 1) - 1
_want_knots(name, xs, ys, least) = {
  assert(rank(xs) == 1 and rank(ys) == 1, "{name} takes vectors of knots and values")
  assert(len(xs) == len(ys), "{name} takes as many values as knots, not {len(ys)} for {len(xs)}")
  assert(len(xs) >= least, "{name} takes at least {least} knots, not {len(xs)}")
  assert(all(xs[1..] > xs[..-1]), "{name}: the knots must ascend")
}

# interp(x, xs, ys): piecewise linear interpolation of the table xs, ys at x of
# any shape, constant beyond its ends.
#   xs is ascending. Derivatives with respect to x, xs and ys.
#     interp(1.5, [0, 1, 2], [0, 10, 30])          #> 20.0
#     interp([-1, 0.5], [0, 1, 2], [0, 10, 30])    #> [0, 5]
interp(x, xs, ys) = {
  assert(rank(xs) == 1 and rank(ys) >= 1,
    "interp takes a place and then the table: interp(x, xs, ys)")
  assert(len(xs) == len(ys) and len(xs) > 1, "interp takes as many values as knots, at least two")
  assert(all(xs[1..] >= xs[..-1]), "interp: the knots must ascend")
  k = _interval(xs, x)
  # differences of integers could overflow
  (left, low) = (xs[k] + 0.0, ys[k] + 0.0)
  t = clamp((x - left) / (xs[k + 1] - left), 0.0, 1.0)
  low + t * (ys[k + 1] - low)
}

# ---- piecewise cubic functions: knots, values and derivatives

# spline(xs, ys; ends, slopes): cubic spline through the points (xs, ys), twice
# continuously differentiable, as a record of functions.
#   The record has s.value(x), s.derivative(x) and s.integral(a, b), x of any
#   shape, and knots, values, slopes. xs is ascending with at least two
#   elements.
#   ends: "not-a-knot" (the first two pieces are one cubic, and the last two);
#   "natural" (second derivatives 0 at the ends); "clamped" (first derivatives
#   there are `slopes`, by default (0, 0)); or "periodic" (ys[-1] is replaced by
#   ys[0]). Beyond the ends the outer cubic continues, or the period.
#   Derivatives with respect to x, xs and ys. Cost: one sparse linear system.
#   [de Boor, A Practical Guide to Splines, 1978, ch. IV]
#     s = spline([0, 1, 2, 3], [0, 1, 8, 27])
#     s.value(1.5)                #~ 3.375
#     s.integral(0, 2)            #~ 4
#     s.value'(3.0)               #~ 27
spline(xs, ys; ends = "not-a-knot", slopes = (0.0, 0.0)) = {
  _want_knots("spline", xs, ys, 2)
  y = if ends == "periodic" { concat(ys[..-1] + 0.0, ys[..1] + 0.0) } else { ys + 0.0 }
  _cubic(xs + 0.0, y, _spline_slopes(xs + 0.0, y, ends, slopes), ends == "periodic")
}
_spline_slopes(x, y, ends, given) = {
  n = len(x)
  h = x[1..] - x[..-1]
  d = (y[1..] - y[..-1]) / h
  if ends == "periodic" {
    # unknowns 0 .. n-2
    m = n - 1
    i = iota(m)
    before = (i + m - 1) % m
    A = sparse(concat(i, i, i), concat(before, i, (i + 1) % m),
      concat(1 / h[before], 2 / h[before] + 2 / h[i], 1 / h[i]), m, m)
    s = linsolve(A, 3 * (d[before] / h[before] + d[i] / h[i]))
    concat(s, s[..1])
  } else { if n == 2 and ends != "clamped" { concat(d, d) } else {
    # Three entries in each row. The third entry of the first and last row
    # repeats the column of its only neighbour.
    i = iota(n - 2) + 1
    one = 0.0 * x[..1] + 1
    (first, middle, right) =
      if ends == "natural" {
        (2 * one, one, 3 * d[..1])
      } else {
        if ends == "clamped" { (one, 0 * one, one * given[0]) } else {
          if ends != "not-a-knot" {
            _refuse("spline has the ends \"not-a-knot\", \"natural\", \"clamped\" and \"periodic\"")
          }
          _free_end(h[..1], d[..1], h[min(1, n - 2) + iota(1)], d[min(1, n - 2) + iota(1)], n)
        }
      }
    (last, neighbour, left) =
      if ends == "natural" {
        (2 * one, one, 3 * d[-1..])
      } else {
        if ends == "clamped" { (one, 0 * one, one * given[1]) } else {
          _free_end(h[-1..], d[-1..], h[max(n - 3, 0) + iota(1)], d[max(n - 3, 0) + iota(1)], n)
        }
      }
    rows = concat(i, i, i, [0, 0], [n - 1, n - 1])
    columns = concat(i - 1, i, i + 1, [0, 1], [n - 1, n - 2])
    a = 1 / h[i - 1]
    b = 1 / h[i]
    A = sparse(rows, columns, concat(a, 2 * (a + b), b, first, middle, last, neighbour), n, n)
    linsolve(A, concat(right, 3 * (d[i - 1] * a + d[i] * b), left))
  } }
}
# The equation for the first (or last) slope when the first two pieces are one
# cubic; for three points, when all is one parabola.
_free_end(h0, d0, h1, d1, n) = if n == 3 { (0 * h0 + 1, 0 * h0 + 1, 2 * d0) } else {
  (h1, h0 + h1, ((3 * h0 + 2 * h1) * h1 * d0 + h0^2 * d1) / (h0 + h1))
}

# pchip(xs, ys): monotone piecewise cubic interpolation: it rises and falls only
# where the points do. The result is a record like that of spline.
#   It is once continuously differentiable. [Fritsch and Butland, SIAM J. Sci.
#   Stat. Comput. 5, 1984]
#     s = pchip([0, 1, 2, 3], [0, 0, 1, 1])
#     s.value([0.5, 1.5])         #> [0, 0.5]
pchip(xs, ys) = {
  _want_knots("pchip", xs, ys, 2)
  x = xs + 0.0
  y = ys + 0.0
  h = x[1..] - x[..-1]
  d = (y[1..] - y[..-1]) / h
  if len(x) == 2 { _cubic(x, y, concat(d, d), false) } else {
    (p, q, u, v) = (h[..-1], h[1..], d[..-1], d[1..])
    same = u * v > 0
    inside = where(same,
      3 * (p + q) / ((2 * q + p) / where(same, u, 1.0) + (q + 2 * p) / where(same, v, 1.0)), 0.0)
    n = len(d)
    _cubic(x, y, concat(_pchip_end(h[0], h[1], d[0], d[1]), inside,
      _pchip_end(h[n - 1], h[n - 2], d[n - 1], d[n - 2])), false)
  }
}
_pchip_end(h0, h1, d0, d1) = {
  s = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
  where(s * d0 <= 0, 0.0, where(d0 * d1 < 0 and abs(s) > 3 * abs(d0), 3 * d0, s))
}

# akima(xs, ys): Akima's piecewise cubic interpolation of at least three points,
# with little overshoot at jumps. The result is a record like that of spline.
#   It is once continuously differentiable; slopes depend on five neighbours.
#   [Akima, J. ACM 17, 1970]
#     s = akima([0, 1, 2, 3, 4], [0, 0, 0, 1, 1])
#     s.value(0.5)                #> 0.0
akima(xs, ys) = {
  _want_knots("akima", xs, ys, 3)
  x = xs + 0.0
  y = ys + 0.0
  d0 = (y[1..] - y[..-1]) / (x[1..] - x[..-1])
  n = len(d0)
  # two more slopes on each side, extrapolated by a parabola
  d = concat(3 * d0[0] - 2 * d0[1], 2 * d0[0] - d0[1], d0, 2 * d0[n - 1] - d0[n - 2],
    3 * d0[n - 1] - 2 * d0[n - 2])
  i = iota(len(x))
  (a, b, c, e) = (d[i], d[i + 1], d[i + 2], d[i + 3])
  left = abs(e - c)
  right = abs(b - a)
  total = left + right
  small = total <= 1e-9 * max(total)
  _cubic(x, y, where(small, 0.5 * (b + c), (left * b + right * c) / where(small, 1.0, total)),
    false)
}

# cubic_hermite(xs, ys, slopes): piecewise cubic function with these values and
# derivatives at the knots, as a record like that of spline
#     s = cubic_hermite([0, 1], [0, 1], [0, 0])
#     s.value(0.5)                #> 0.5
cubic_hermite(xs, ys, slopes) = {
  _want_knots("cubic_hermite", xs, ys, 2)
  assert(len(slopes) == len(xs), "cubic_hermite takes as many slopes as knots")
  _cubic(xs + 0.0, ys + 0.0, slopes + 0.0, false)
}

_cubic(x, y, m, periodic) = (
  value = t -> _cubic_value(x, y, m, _within_period(x, t, periodic)),
  derivative = t -> _cubic_slope(x, y, m, _within_period(x, t, periodic)),
  integral = (a, b) -> _cubic_primitive(x, y, m, b, periodic) -
  _cubic_primitive(x, y, m, a, periodic),
  knots = x, values = y, slopes = m
)
_within_period(x, t, periodic) =
  if periodic {
    t - (x[-1] - x[0]) * floor(stop_gradient((t - x[0]) / (x[-1] - x[0])))
  } else {
    t + 0.0
  }
_cubic_value(x, y, m, at) = {
  k = _interval(x, at)
  h = x[k + 1] - x[k]
  t = (at - x[k]) / h
  s = 1 - t
  s^2 * ((1 + 2 * t) * y[k] + h * t * m[k]) + t^2 * ((3 - 2 * t) * y[k + 1] - h * s * m[k + 1])
}
_cubic_slope(x, y, m, at) = {
  k = _interval(x, at)
  h = x[k + 1] - x[k]
  t = (at - x[k]) / h
  6 * t * (1 - t) * (y[k + 1] - y[k]) / h + (1 - t) * (1 - 3 * t) * m[k] +
    t * (3 * t - 2) * m[k + 1]
}
# The integral from the first knot.
_cubic_primitive(x, y, m, at, periodic) = {
  width = x[1..] - x[..-1]
  whole = concat(0.0, cumsum(0.5 * width * (y[1..] + y[..-1]) + width^2 / 12 * (m[..-1] - m[1..])))
  inside = _within_period(x, at, periodic)
  k = _interval(x, inside)
  h = x[k + 1] - x[k]
  t = (inside - x[k]) / h
  part = h * (t * (1 - t^2 + 0.5 * t^3) * y[k] + t^3 * (1 - 0.5 * t) * y[k + 1]) +
    h^2 * t^2 * ((0.5 - 2 * t / 3 + 0.25 * t^2) * m[k] + t * (0.25 * t - 1 / 3) * m[k + 1])
  turns = if periodic {
    floor(stop_gradient((at - x[0]) / (x[-1] - x[0]))) * whole[-1]
  } else {
    0.0
  }
  whole[k] + part + turns
}

# ---- polynomial interpolation

# barycentric(xs, ys): the polynomial through the points (xs, ys), as a function
# of x of any shape.
#   Cost: O(len(xs)) for each x after the weights, O(len(xs)²). It is accurate
#   for Chebyshev points, even thousands of them. Derivatives with respect to x
#   and ys. [Berrut and Trefethen, SIAM Review 46, 2004]
#     p = barycentric([0.0, 1, 3], [1.0, 2, 10])
#     p([0.0, 2.0])               #~ [1, 5]
#     p'(2.0)                     #~ 4
barycentric(xs, ys) = {
  assert(rank(xs) == 1 and len(xs) == len(ys) and len(xs) > 0,
    "barycentric takes as many values as points")
  x = xs + 0.0
  n = len(x)
  # differences in units of a quarter of the interval, so that products neither
  # overflow nor underflow
  unit = if n > 1 { stop_gradient(0.25 * (max(x) - min(x))) } else { 1.0 }
  w = 1 / prod((expand(x, 1) - expand(x, 0)) / unit + eye(n); axis = 1)
  y = ys + 0.0
  t -> _barycentric(x, y, w, t + 0.0)
}
_barycentric(x, y, w, t) = {
  d = expand(t, rank(t)) - x
  hit = d == 0
  at_node = any(hit; axis = rank(t))
  # At a node: its value, and as derivative a row of the differentiation matrix.
  c = w / where(hit, 1.0, where(expand(at_node, rank(t)), 1.0, d))
  k = argmax(hit; axis = rank(t))
  e = expand(x[k], rank(t)) - x
  slope =
    sum(where(hit, 0.0, w / expand(w[k], rank(t)) * (y - expand(y[k], rank(t))) / where(e == 0, 1.0,
      e)); axis = rank(t))
  where(at_node, y[k] + (t - x[k]) * slope, sum(c * y; axis = rank(t)) / sum(c; axis = rank(t)))
}
