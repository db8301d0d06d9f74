# cubature.dsl - integrals over boxes in several dimensions: adaptive cubature,
# with lattice points to find peaks.
#
# Regions are chosen without derivatives; the sum over them has derivatives.

# cubature(f, lower, upper; rtol = 1e-6, atol = 0, limit = 10000): integral of f
# over the box between the vectors lower and upper, whose elements may be
# infinite.
#   f takes a vector and returns a scalar or an array. For an array the error is
#   that of the largest element. The result is a record: value, error (an
#   estimate, no derivative), evaluations.
#   Two and more dimensions use the rule of Genz and Malik of degree 7; its
#   difference from a rule of degree 5 estimates the error. The region with the
#   largest estimate is halved along the axis of the largest fourth difference.
#   This stops when the estimates sum to max(atol, rtol * |result|); it is an
#   error when that needs more than `limit` regions. One dimension is computed
#   as by integrate.
#   The method suits up to about six dimensions: a region takes 2^d + 2d² + 2d +
#   1 values of f. Under map each iteration costs time proportional to `limit`.
#   Peaks are searched at 1000 points. If f is 0 at all of these, 20000 further
#   points are used, in infinite directions at distances up to 1000. A peak
#   counts when it is ten times as large as its surroundings. In two dimensions
#   a peak is found whose foot is a thirtieth of each side, towards infinity one
#   as wide as its distance. A narrower peak, or one on a base, may be missed,
#   and the error estimate does not show it: split the box there.
#   Derivatives of every order, with respect to captured values and finite
#   bounds, use the regions found. They do not include the contribution of a
#   moving jump of f; a warning reports this. [Genz and Malik, J. Comput. Appl.
#   Math. 6, 1980; van Dooren and de Ridder 1976]
#     cubature(x -> exp(-x @ x), [-inf, -inf], [inf, inf]).value   #~ π tol 1e-6
#     (p -> cubature(x -> cos(p * x[0] * x[1]), [0.0, 0], [1.0, 2]).value)'(0.0)   #~ 0 tol 1e-9
cubature(f, lower, upper; rtol = 1e-6, atol = 0.0, limit = 10000) = {
  (a, b) = (lower + 0.0, upper + 0.0)
  assert(rank(a) == 1 and len(a) == len(b), "cubature: lower and upper are vectors of one length")
  if len(a) == 1 {
    quadrature(x -> f([x]), a[0], b[0]; rtol = rtol, atol = atol, limit = 5000)
  } else {
    g = u -> { (x, w) = _in_box(u, a, b); f(x) * w }
    s = _regions(u -> stop_gradient(g(u)), stop_gradient(a), stop_gradient(b), rtol, atol, limit)
    like = 0 * g(zeros(len(a)) + 0.5)
    R = _genz_malik(len(a))
    value = sum(map((c, h) -> _region_value(g, R, c, h, size(like)), s.centre, s.half); axis = 0)
    (value = _of_smooth(f, reshape(value, shape(like)),
      stop_gradient(_in_box(zeros(len(a)) + 0.5, a, b)[0])), error = s.error,
      evaluations = s.evaluations)
  }
}
# Returns v. Its derivative with respect to captured values warns when f may
# jump at moving places, whose contribution it does not include.
_of_smooth(f, v, x) = v
derivative _of_smooth(f, v, x), df, dv, dx = {
  if not _absent(df) {
    if len(_switches(df, x)) > 0 {
      _warning(
        "cubature: the integrand compares numbers that depend on the place and on what the "
        "integral is differentiated by; if it jumps there, the derivative lacks what the jump "
        "adds. One integrate in the other has it")
    }
  }
  if _absent(dv) { 0 * v } else { dv }
}
# Maps a point of the unit cube to the box; returns the point and the Jacobian
# determinant. Towards infinity x = a + u/(1 - u), b - (1 - u)/u or (2u -
# 1)/(u(1 - u)).
_in_box(u, a, b) = {
  below = a == -inf
  above = b == inf
  l = where(below, 0.0, a)
  r = where(above, 0.0, b)
  # never the ends themselves
  v = clamp(u, 1e-15, 1 - 1e-15)
  x = where(below and above, (2 * v - 1) / (v * (1 - v)),
    where(above, l + v / (1 - v), where(below, r - (1 - v) / v, l + (r - l) * u)))
  w = where(below and above, (1 - 2 * v * (1 - v)) / (v * (1 - v))^2,
    where(above, 1 / (1 - v)^2, where(below, 1 / v^2, r - l)))
  (x, prod(w))
}
# The zero of x^(d + 1) = x + 1 above 1. Multiples of its powers fill a
# d-dimensional box evenly.
_plastic(d) = {
  x = 2.0
  for k in 0..60 { x = (1 + x)^(1 / (d + 1.0)) }
  x
}
# The smallest half width of a region along an axis: rounding would not resolve
# thinner ones. A remaining error then does not come from too few regions.
_thinnest = 2.0^-46
# Points in [-1, 1]^d and weights for a volume of 1, of degree 7 and of degree
# 5.
_genz_malik(d) = {
  (l2, l3, l5) = (sqrt(9 / 70), sqrt(9 / 10), sqrt(9 / 19))
  I = eye(d)
  (i, j) = _pairs(d)
  corners = 2.0 * f64((expand(iota(2^d), 1) // 2^iota(d)) % 2) - 1
  two = concat(I[i] + I[j], I[i] - I[j], -I[i] + I[j], -I[i] - I[j])
  n = f64(d)
  points = concat(zeros(1, d), l2 * I, -l2 * I, l3 * I, -l3 * I, l3 * two, l5 * corners)
  ones_of = (w, m) -> zeros(m) + w
  w7 = concat([(12824 - 9120 * n + 400 * n^2) / 19683], ones_of(980 / 6561, 2d),
    ones_of((1820 - 400 * n) / 19683, 2d), ones_of(200 / 19683, len(two)),
    ones_of(6859 / 19683, 2^d) / 2^n)
  w5 = concat([(729 - 950 * n + 50 * n^2) / 729], ones_of(245 / 486, 2d),
    ones_of((265 - 100 * n) / 1458, 2d), ones_of(25 / 729, len(two)), zeros(2^d))
  (points = points, w7 = w7, w5 = w5, dimension = d)
}
_pairs(d) = {
  k = iota(d * d)
  kept = findall(k // d < k % d)
  (kept // d, kept % d)
}
_region_value(g, R, c, h, m) = {
  v = map(g, expand(c, 0) + R.points * expand(h, 0))
  prod(2 * h) * (R.w7 @ reshape(v, len(R.w7), m))
}
# (value, error, axis to halve, largest known value, its place). A value `known`
# at an earlier point `place` that is ten times as large as all values here
# marks the region for refinement.
_region(g, R, c, h, d, known, place) = {
  points = expand(c, 0) + R.points * expand(h, 0)
  v = reshape(map(g, points), len(R.w7), -1)
  sizes = max(abs(v); axis = 1)
  best = argmax(sizes)
  inside = all(abs(place - c) <= h * (1 + 1e-12))
  hidden = inside and known > 10 * sizes[best]
  volume = prod(2 * h)
  I = volume * (R.w7 @ v)
  E = max(abs(I - volume * (R.w5 @ v)))
  # fourth differences; the ratio is (l2/l3)^2
  near = v[1..1 + d] + v[1 + d..1 + 2 * d] - 2 * v[0]
  far = v[1 + 2 * d..1 + 3 * d] + v[1 + 3 * d..1 + 4 * d] - 2 * v[0]
  bend = max(abs(near - far / 7); axis = 1)
  # on ties, the longest side
  if hidden { (I, max(E, volume * known), argmax(h), known, place) } else {
    (I, E, argmax(bend + 1e-10 * (max(bend) + 1e-300) * h / max(h)), sizes[best], points[best])
  }
}
# (a region, the largest value near it, the point of the region nearest to
# that). One of the largest known values, at most half a region away, is ten
# times as large as all values in the region, and its contribution would exceed
# the tolerance. The region is -1 when there is none. A narrow peak on the
# border of two regions may have been sampled in one only.
_lost_beside(centre, half, tops, places, tolerance) = {
  order = argsort(tops; descending = true)[..min(40, len(tops))]
  p = expand(places[order], 1)
  near = all(abs(p - expand(centre, 0)) <= 1.5 * expand(half, 0); axis = 2)
  value = expand(tops[order], 1)
  counts = where(near and value > 10 * expand(tops, 0), value * expand(prod(2 * half; axis = 1), 0),
    0.0)
  best = max(counts; axis = 0)
  k = argmax(best)
  j = argmax(counts[.., k])
  place = clamp(places[order[j]], centre[k] - half[k], centre[k] + half[k])
  (if sum(best) > tolerance { k } else { -1 }, tops[order[j]], place)
}
# n points in a d-dimensional unit box, by multiples of irrational numbers (a
# Korobov-type lattice).
_lattice(n, d) = (0.5 + expand(1.0 + iota(n), 1) * 1 / (_plastic(d)^(1.0 + iota(d)))) % 1.0
# The same for the box from a to b; towards infinite ends at distances from 1 to
# 1000, logarithmically spaced.
_far_lattice(n, a, b) = {
  t = _lattice(n, len(a))
  (below, above) = (a == -inf, b == inf)
  both = below and above
  rest = 10^(-3 * where(both, abs(2 * t - 1), t)) * where(both, 0.4, 1.0)
  where(below or above, where(where(both, t < 0.5, below), rest, 1 - rest), t)
}
# The largest value at the given points, and where it is.
_largest_of(g, places) = {
  seen = max(abs(reshape(map(g, places), len(places), -1)); axis = 1)
  seen = where(seen < inf, seen, 0.0)
  k = argmax(seen)
  (seen[k], places[k])
}
_regions(g, a, b, rtol, atol, limit) = {
  d = len(a)
  R = _genz_malik(d)
  centre = zeros(limit, d)
  half = zeros(limit, d)
  centre[0] = zeros(d) + 0.5
  half[0] = zeros(d) + 0.5
  # Peaks may be between the points of the rule. If all values are 0, more
  # points are tried.
  tried = _lattice(1000, d)
  (most, at) = _largest_of(g, tried)
  if most == 0 { (most, at) = _largest_of(g, _far_lattice(20000, a, b)) }
  (I, E, k, top, place) = _region(g, R, centre[0], half[0], d, most, at)
  tops = concat([1.0], zeros(limit - 1)) * top
  places = zeros(limit, d)
  places[0] = place
  values = concat([1.0], zeros(limit - 1)) * expand(I, 1)
  errors = concat([1.0], zeros(limit - 1)) * E
  axis = i64(zeros(limit))
  axis[0] = k
  total = I
  miss = E
  n = 1
  turns = 0
  open = true
  while open {
    if not (max(abs(total)) < inf and miss < inf) {
      error("cubature: the function is infinite or NaN in the box")
    }
    tolerance = max(max(atol, rtol * max(abs(total))), 1e-300)
    if miss <= tolerance and turns < 200 {
      (k, value, place) = _lost_beside(centre[..n], half[..n], tops[..n], places[..n], tolerance)
      if k >= 0 {
        more = max(errors[k], prod(2 * half[k]) * value)
        miss = miss + (more - errors[k])
        errors[k] = more
        tops[k] = value
        places[k] = place
        turns = turns + 1
      }
    }
    open = miss > tolerance
    if open {
      if n == limit {
        error(
          "cubature: the tolerance is not reached with {limit} regions; the result is near "
          "{total}, its error estimated to be {miss:.1e}")
      }
      w = argmax(errors)
      h = half[w]
      k = axis[w]
      h[k] = 0.5 * h[k]
      if h[k] < _thinnest {
        error(
          "cubature: the tolerance is not reached, since the integral diverges, or the function is "
          "singular or falls too slowly, at the place {centre[w]} of the unit box that the box is "
          "mapped to; the error is estimated to be {miss:.1e}")
      }
      (c1, c2) = (centre[w], centre[w])
      c1[k] -= h[k]
      c2[k] += h[k]
      (top, place) = (tops[w], places[w])
      (I1, E1, k1, top1, place1) = _region(g, R, c1, h, d, top, place)
      (I2, E2, k2, top2, place2) = _region(g, R, c2, h, d, top, place)
      total = total + (I1 + I2 - values[.., w])
      miss = miss + (E1 + E2 - errors[w])
      centre[w] = c1
      centre[n] = c2
      half[w] = h
      half[n] = h
      values[.., w] = I1
      values[.., n] = I2
      errors[w] = E1
      errors[n] = E2
      axis[w] = k1
      axis[n] = k2
      tops[w] = top1
      tops[n] = top2
      places[w] = place1
      places[n] = place2
      n = n + 1
      # recompute the running sums to remove accumulated rounding
      if n % 500 == 0 { total = sum(values; axis = 1); miss = sum(errors) }
    }
  }
  (centre = centre[..n], half = half[..n], error = miss, evaluations = (2 * n - 1) * len(R.w7) +
    len(tried))
}
