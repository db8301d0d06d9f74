# gauss_kronrod.dsl - globally adaptive quadrature by the Gauss-Kronrod pair of
# 7 and 15 points, with a search for narrow peaks.
#
# Method: a change of variables maps infinite ends to finite ones and weakens
# singularities at the ends (Shampine, Vectorized adaptive quadrature in MATLAB,
# J. Comput. Appl. Math. 211, 2008). There integrals are extrapolated by the
# epsilon algorithm (Wynn 1956; Piessens et al., QUADPACK, 1983).
#
# Contract: _globally and _on_both_sides return the value, an estimate of its
# error, and the number of evaluations. f may be infinite at the ends. A
# tolerance that is not reached is an error.

# Globally adaptive: the interval with the largest error is halved (Piessens et
# al., QUADPACK, 1983). When the tolerance is met, further points between the
# nodes are tried. If f is unexpectedly large at one, intervals are refined
# there and the iteration continues. From -inf to inf the two halves are
# elements of an array, so that the divergence of one cannot be cancelled by the
# other.
_on_both_sides(f, a, b, o) = {
  r = _globally(x -> stack(f(x), f(-x)), 0.0, inf, (...o, two = true))
  way = if a == b { 0.0 } else if a < b { 1.0 } else { -1.0 }
  (...r, value = way * (r.value[0] + r.value[1]), error = 2 * r.error,
    evaluations = 2 * r.evaluations)
}
_globally(f, a, b, o) = {
  ends = _ends(a, b)
  g = q -> { (x, dx) = _place_at(ends, q); f(x) * dx }
  like = 0 * g(0.1)
  m = size(like)
  s = _ten_intervals(g, ends, m)
  q = _tried(ends)
  (values, sums) = _values_between(g, q, m)
  # peaks, and nearly 0 elsewhere
  spiky = 8 * sum(i64(values > 1e-6 * max(values))) < len(values)
  # this suffices for most functions
  plain = not spiky and sum(s.errors) <= _tolerance(s, o) and sum(s.sizes) > 0 and
    _overlooked(q, values, s, o)[0] < 0 and
    _unforeseen(q, sums, s, o, m)[0] < 0
  r = if a == b or plain { _outcome_of_intervals(s) } else { _outcome_of_intervals(
    _thoroughly(g, ends, s, q, values, sums, spiky, m, o)) }
  (value = if a == b { like } else { reshape(r.total, shape(like)) },
    error = if a == b { 0.0 } else { r.error }, evaluations = 15 * r.count + len(q))
}
_outcome_of_intervals(s) =
  (total = sum(s.parts; axis = 0), error = sum(s.errors) + 1e-15 * sum(s.sizes) + sum(s.lost),
    count = s.count)
# Largest absolute values at points. A value that is not finite counts as 0: it
# is a pole or a gap, which the rule never meets.
_sizes_between(g, q, m) = _values_between(g, q, m)[0]
# The same, with the sums of the values.
_values_between(g, q, m) = {
  values = reshape(map(g, q), len(q), m)
  v = max(abs(values); axis = 1)
  (where(v < inf, v, 0.0), _real_sum(values, 1))
}
_real_sum(values, k) =
  { s = sum(values; axis = k); if _is_complex(s) { real(s) + imag(s) } else { s } }
_thoroughly(g, ends, s, q, values, sums, spiky, m, o) = {
  s = _adapted(g, ends, _with_room(s, o.limit, m), m, o)
  open = true
  turns = 0
  dense = (at = q[..0], values = values[..0])
  while open {
    (k, at) = _overlooked(q, values, s, o)
    if k < 0 and turns < 10 and s.n + 27 <= len(s.left) { (k, at) = _unforeseen(q, sums, s, o, m) }
    # a peak at which an interval was cut is no longer at a node
    if k < 0 and turns < 10 and s.n + 27 <= len(s.left) {
      # the middle is both the first and the last of these
      cuts = sort(concat(s.left[..s.n], [max((s.left + s.width)[..s.n])]))
      v = _sizes_between(g, cuts, m)
      (k, at) =
        _overlooked(concat(cuts[..-1], cuts[1..] - 1e-12 * (cuts[1..] - cuts[..-1])),
          concat(v[..-1], v[1..]), s, o)
    }
    # if nearly all values seen are 0, many more points are tried
    if k < 0 and (sum(s.sizes) == 0 or spiky) {
      if len(dense.at) == 0 {
        more = _tried_densely(ends)
        dense = (at = more, values = _sizes_between(g, more, m))
      }
      (k, at) = _overlooked(dense.at, dense.values, s, o)
    }
    open = k >= 0
    if open {
      if turns == 20 or s.n + 27 > len(s.left) {
        error(
          "integrate: the function has more narrow peaks between {ends.a} and {ends.b} than are "
          "looked for, as near {_place_at(ends, at)[0]}; cut the interval there")
      }
      s = _adapted(g, ends, _cut_towards(g, ends, s, k, at, m), m, o)
      turns = turns + 1
    }
  }
  s
}
# Parameter q of points x: |q| is a power of the distance from the nearer end,
# and q is negative for b. This avoids cancellation at both ends, weakens
# singularities there, and maps infinite ends to finite q. The middle, or the
# point at distance 1 from the finite end, is q = 1 and q = -1. Between finite
# ends the power applies to the tips, |q| < 0.2; in the middle x is even in q.
#
# least: the smallest width of an interval at an end. Its first node must differ
# from that end despite rounding, or must not overflow at an infinite end.
_ends(a, b) = {
  (up, down) = (abs(b) == inf, abs(a) == inf)
  resolved = x -> max(16 * 2.2e-16 * abs(x), 1e-290)
  first = 0.0042
  least = x -> if abs(x) == inf { 1e-37 } else if up or down { sqrt(sqrt(resolved(x))) } else {
    sqrt(resolved(x) / abs(b - a))
  }
  (a = a, b = b, up = up, down = down, way = if a < b { 1.0 } else { -1.0 },
    least = [least(a), least(b)] / first)
}
# The fraction of the way between finite ends for z = |q|, its derivative, and z
# from the fraction.
_part_behind(z) = where(z < 0.2, z^2 / 0.72, (0.4 * z - 0.04) / 0.72)
_slope_behind(z) = where(z < 0.2, 2 * z, 0.4) / 0.72
_before_part(t) = where(t < 0.04 / 0.72, sqrt(0.72 * abs(t)), (0.72 * t + 0.04) / 0.4)
# (x, dx/dq) at q.
_place_at(ends, q) = {
  z = abs(q)
  (a, b, way) = (ends.a, ends.b, ends.way)
  if ends.up { r = where(q > 0, z, 1 / z)^4; (a + way * r, 4 * way * r / z) } else if ends.down {
    r = where(q > 0, 1 / z, z)^4
    (b - way * r, 4 * way * r / z)
  } else {
    t = (b - a) * _part_behind(z)
    (where(q > 0, a + t, b - t), (b - a) * _slope_behind(z))
  }
}
# The uncertainty of q due to rounding of x.
_unrest(ends, q) = {
  (x, dx) = _place_at(ends, q)
  finite = x -> if abs(x) < inf { abs(x) } else { 0.0 }
  1.1e-16 * max(abs(x), where(q > 0, finite(ends.a), finite(ends.b))) / max(abs(dx), 1e-300)
}
# The state: all intervals, by left end and width. parts: integrals; sizes:
# integrals of the absolute value; least, most: the range of values at nodes
# (sums of elements); tops: the largest value at nodes; lost: rounding errors
# due to rounded places; errors; shell: see _cut_in_two. For the two tips (the
# intervals at the ends): tip: their indices; depth: number of halvings; deep:
# required number of halvings; extrapolated: whether their parts are
# extrapolated.
_ten_intervals(g, ends, m) = {
  left = 0.2 * (iota(10) - 5)
  width = zeros(10) + 0.2
  h = _kronrod(g, ends, left, width, m)
  (left = left, width = width, parts = h.value, sizes = h.size, tops = h.top, lost = h.lost,
    errors = max(h.error; axis = 1), least = h.least, most = h.most, shell = iota(10) * 0 - 1,
    n = 10, count = 10, tip = [5, 4], depth = [0, 0], deep = [0, 0], extrapolated = [false, false])
}
# The state with space for `limit` more intervals.
_with_room(s, limit, m) = {
  room = zeros(limit)
  (...s, left = concat(s.left, room), width = concat(s.width, room),
    parts = concat(s.parts, zeros(limit, m) + 0 * s.parts[0]), sizes = concat(s.sizes, room),
    tops = concat(s.tops, room), lost = concat(s.lost, room), errors = concat(s.errors, room),
    least = concat(s.least, room), most = concat(s.most, room),
    shell = concat(s.shell, iota(limit) * 0 - 1))
}
_tolerance(s, o) = {
  total = sum(s.parts; axis = 0)
  half = len(total) // 2
  asked = size -> max(o.atol, o.rtol * max(abs(size)))
  asked = if o.two { 0.5 * asked(total[..half] + total[half..]) } else { asked(total) }
  max(asked, 2e-14 * sum(s.sizes))
}
_adapted(g, ends, s, m, o) = {
  (a, b) = (ends.a, ends.b)
  open = a != b
  while open {
    if not (sum(s.sizes) < inf) {
      k = argmax(where(s.sizes < inf, 0.0, 1.0))
      x = _place_at(ends, s.left[k] + 0.5 * s.width[k])[0]
      error(
        "integrate: the function, or its integral, is infinite or NaN between {a} and {b}, near "
        "{x}")
    }
    over = sum(s.errors) > _tolerance(s, o)
    shallow = s.depth < s.deep
    open = over or any(shallow)
    if open {
      k = if shallow[0] { s.tip[0] } else if shallow[1] { s.tip[1] } else { argmax(s.errors) }
      end = if k == s.tip[0] { 0 } else if k == s.tip[1] { 1 } else { -1 }
      if end >= 0 and s.width[k] <= 2 * ends.least[max(end, 0)] {
        # the end cannot be resolved further
        if not any(shallow) {
          at = if end == 0 { a } else { b }
          if abs(at) == inf {
            error(
              "integrate: the integral from {a} to {b} diverges, or the function falls too slowly, "
              "or oscillates (see oscillatory); the error is estimated to be {sum(s.errors):.1e}")
          }
          error(
            "integrate: the integral from {a} to {b} diverges at {at}, or numbers near {at} are "
            "too coarse there for the tolerance (the error is estimated to be "
            "{sum(s.errors):.1e}); with this end at 0 they are finer")
        }
        s = (...s, deep = s.depth)
      } else {
        if s.n == len(s.left) {
          error(
            "integrate: the tolerance is not reached between {a} and {b} with {o.limit} intervals; "
            "the error is estimated to be {sum(s.errors):.1e}")
        }
        s = _cut_in_two(g, ends, s, k, end, m)
      }
    }
  }
  s
}
# Halves interval k. The half of a tip that is no longer at the end becomes a
# shell, with the number 2 * (index of the shell) + (0 at a, 1 at b), which its
# own halves inherit. All other intervals have the number -1.
_cut_in_two(g, ends, s, k, end, m) = {
  (left, width, parts, sizes, tops, lost) = (s.left, s.width, s.parts, s.sizes, s.tops, s.lost)
  (errors, least, most, shell) = (s.errors, s.least, s.most, s.shell)
  (tip, depth, extrapolated, n) = (s.tip, s.depth, s.extrapolated, s.n)
  (before, missed) = (parts[k], errors[k])
  w = 0.5 * width[k]
  two = [left[k], left[k] + w]
  h = _kronrod(g, ends, two, [w, w], m)
  # an interval with the accuracy of rounding is not refined again
  raw = max(h.error; axis = 1)
  miss = where(raw <= 5e-15 * h.size, 0.0, raw)
  left[n] = two[1]
  width[k] = w
  width[n] = w
  parts[k] = h.value[0]
  parts[n] = h.value[1]
  sizes[k] = h.size[0]
  sizes[n] = h.size[1]
  tops[k] = h.top[0]
  tops[n] = h.top[1]
  lost[k] = h.lost[0]
  lost[n] = h.lost[1]
  errors[k] = miss[0]
  errors[n] = miss[1]
  least[k] = h.least[0]
  least[n] = h.least[1]
  most[k] = h.most[0]
  most[n] = h.most[1]
  shell[n] = shell[k]
  if end >= 0 {
    e = max(end, 0)
    # at a the first half stays at the end, at b the second
    (t, outer) = if e == 0 { (k, n) } else { (n, k) }
    shell[t] = -1
    shell[outer] = 2 * depth[e] + e
    tip[e] = t
    depth[e] = depth[e] + 1
    ours = where(shell % 2 == e and shell >= 0, shell // 2, -1)
    r = _beyond(parts, ours, depth[e], parts[t], h.error[e], sum(sizes))
    error = if r.extrapolated { r.error } else { max(errors[t], r.error) }
    # The earlier estimate of the whole tip may be better, when rounding
    # dominates the last shells.
    known = missed + raw[1 - e]
    kept = extrapolated[e] and known <= error
    parts[t] = if kept { before - h.value[1 - e] } else { r.value }
    errors[t] = if kept { known } else { error }
    extrapolated[e] = kept or r.extrapolated
    # an extrapolation does not sample the tip
    if extrapolated[e] { lost[t] = 0.0 }
  }
  (...s, left = left, width = width, parts = parts, sizes = sizes, tops = tops, lost = lost,
    errors = errors, least = least, most = most, shell = shell, tip = tip, depth = depth,
    extrapolated = extrapolated, n = n + 1, count = s.count + 2)
}
# The integral over a tip after `depth` shells. It is either the value of the
# rule, with the difference `miss` of the two rules, or an extrapolation of the
# shells.
#
# If shells fall by a ratio r, the remainder is about r/(1 - r) of the last one.
# The rule's error at a singularity exceeds `miss` by such a factor. If the
# ratio is constant, the sums of the shells converge geometrically, and the
# epsilon algorithm finds the limit. If it tends to 1, as for 1/(x log(x)^2),
# they are not extrapolated.
_beyond(parts, shell, depth, value, miss, whole) = {
  S = zeros(64, len(value)) + 0 * value
  first = max(depth - 11, 0)
  i = where(shell >= first, shell - first, 63)
  S[min(i, 63)] += where(expand(shell >= first, 1), parts, 0.0)
  S = S[..12]
  c = depth - first
  (last, before, early) = (S[max(c - 1, 0)], S[max(c - 2, 0)], S[max(c - 3, 0)])
  ratio = (p, q) -> where(q != 0, abs(p) / where(q != 0, abs(q), 1.0), where(p != 0, 1.0, 0.0))
  r = if c > 1 { ratio(last, before) } else { 0 * abs(last) }
  # rounding errors have no ratio
  small = abs(last) + abs(value) <= 1e-14 * whole
  behind = max(where(small, abs(miss), abs(miss) / max(1 - r, 1e-12)))
  if c < 6 { (value = value, error = behind, extrapolated = false) } else {
    sums = cumsum(S[..c])
    limit = sums -> map(v -> _epsilon(v), transpose(sums))
    (best, other, third) = (limit(sums), limit(sums[..-1]), limit(sums[..-2]))
    q = ratio(before, early)
    # For shells that fall as a power of their index, the ratio changes by more
    # than a fraction of the square of its distance from 1. Negligible shells
    # say nothing about a tip in which the rule sees a peak.
    steady = max(abs(r - q), abs(q - ratio(early, S[c - 4]))) <= 0.02 * (1 - r)^2 and r < 1 and
      abs(value) * (1 - r) <= 10 * r * abs(last)
    change = 2 * max(abs(best - other), abs(best - third))
    outer =
      max(where(small, abs(miss),
        where(steady, change + 1e-15 * abs(last) / max(1 - r, 1e-12)^2, inf)))
    if outer < behind {
      (value = where(small, value, best - sums[c - 1]), error = outer, extrapolated = true)
    } else { (value = value, error = behind, extrapolated = false) }
  }
}

# The last entry of the last even column of the epsilon table that rounding
# leaves meaningful.
_epsilon(s) = {
  n = len(s)
  before = 0 * s
  now = s
  answer = s[n - 1]
  k = 1
  open = true
  while open and k < n {
    d = now[1..n - k + 1] - now[..n - k]
    far = abs(stop_gradient(d)) > 1e-15 * abs(stop_gradient(now[1..n - k + 1]))
    open = all(far)
    if open {
      next = before[1..n - k + 1] + 1 / where(far, d, 1.0)
      before = concat(now[..n - k], now[n - k..])
      now = concat(next, 0 * s[..k])
      if k % 2 == 0 { answer = now[n - k - 1] }
    }
    k = k + 1
  }
  answer
}

# Sample points, as q: round values, and values that approach the ends in steps,
# so that the foot of a narrow peak is among them.
_tried(ends) = if abs(ends.a) == inf or abs(ends.b) == inf {
  _from_finite_end(ends,
    concat(_halvings(-50, -2), 0.2 * (1 + iota(50)), iota(90) + 11.0, 100 * 1.02^(1.0 + iota(115)),
      _halvings(10, 30), 10.0^(3.0 + iota(7))))
} else {
  z = _before_part(concat(0.01 * (1 + iota(49)), _halvings(-40, -6)))
  # 0 between the ends or at one of them, however far away, and the middle
  beside = concat(64.0^(-7.0 - iota(20)), _halvings(-40, -6))
  x = abs(ends.b - ends.a) * concat(beside, -beside)
  (from_a, from_b) = ((x - ends.a) / (ends.b - ends.a), (x - ends.b) / (ends.a - ends.b))
  inside = from_a > 0 and from_b > 0
  concat(z, -z, [1.0],
    where(inside, where(from_a < 0.5, _before_part(from_a), -_before_part(from_b)), 1.0))
}
_halvings(m, n) = 2.0^(m + iota(n - m))
# Sample points everywhere, dense enough for any peak whose foot covers a
# thousandth of the interval, or a hundredth of its distance from the finite
# end.
_tried_densely(ends) = if abs(ends.a) == inf or abs(ends.b) == inf {
  _from_finite_end(ends, 1e-3 * 1.0105^(0.0 + iota(2000)))
} else { z = _before_part((iota(1000) + 0.5) / 2000); concat(z, -z) }
# q of points at these distances from the finite end.
_from_finite_end(ends, y) = {
  z = sqrt(sqrt(where(y < 1, y, 1 / y)))
  if ends.up { where(y < 1, z, -z) } else { where(y < 1, -z, z) }
}
# (an interval, a point in it) where f at a sample point is ten times as large
# as at all nodes of its interval and the contribution exceeds the tolerance; -1
# when there is none. Extrapolated tips are skipped: they are known to grow.
_overlooked(q, values, s, o) = {
  k = _intervals_of(q, s)
  known = (k == s.tip[0] and s.extrapolated[0]) or (k == s.tip[1] and s.extrapolated[1])
  more = where(values > 10 * s.tops[k] and not known, values * s.width[k], 0.0)
  i = argmax(more)
  (if more[i] > _tolerance(s, o) { k[i] } else { -1 }, q[i])
}
# The same for a peak on a base: f, the sum of its elements, leaves the range of
# the nodes in its interval by more than half of that range. Tips are skipped,
# where f may be singular.
_unforeseen(q, sums, s, o, m) = {
  k = _intervals_of(q, s)
  (least, most) = (s.least[k], s.most[k])
  off = max(sums - most, least - sums)
  beyond = off > 0.5 * (most - least) + 1e-14 * m * s.tops[k]
  tip = k == s.tip[0] or k == s.tip[1]
  more = where(beyond and off < inf and not tip, off * s.width[k], 0.0)
  i = argmax(more)
  (if more[i] > _tolerance(s, o) { k[i] } else { -1 }, q[i])
}
# The index of the interval that contains each point.
_intervals_of(q, s) = {
  left = where(iota(len(s.left)) < s.n, s.left, inf)
  order = argsort(left)
  order[searchsorted(left[order], q) - 1]
}
# Refines interval k around the point q in it: the new intervals become shorter
# towards q. A tip is halved until q is outside.
_cut_towards(g, ends, s, k, q, m) = if k == s.tip[0] or k == s.tip[1] {
  deep = s.deep
  e = if k == s.tip[0] { 0 } else { 1 }
  deep[e] = s.depth[e] + 1 + i64(floor(log2(s.width[k] / max(abs(q), 1e-300))))
  (...s, deep = deep)
} else {
  (left, width, parts, sizes, tops, lost) = (s.left, s.width, s.parts, s.sizes, s.tops, s.lost)
  (errors, least, most, shell, n) = (s.errors, s.least, s.most, s.shell, s.n)
  (from, to) = (left[k], left[k] + width[k])
  d = width[k] * 0.25^(1.0 + iota(13))
  cuts = sort(concat([from, to, q], clamp(q - d, from, to), clamp(q + d, from, to)))
  h = _kronrod(g, ends, cuts[..-1], cuts[1..] - cuts[..-1], m)
  raw = max(h.error; axis = 1)
  for i in 0..28 {
    j = if i == 0 { k } else { n + i - 1 }
    left[j] = cuts[i]
    width[j] = cuts[i + 1] - cuts[i]
    parts[j] = h.value[i]
    sizes[j] = h.size[i]
    tops[j] = h.top[i]
    lost[j] = h.lost[i]
    errors[j] = raw[i]
    least[j] = h.least[i]
    most[j] = h.most[i]
    shell[j] = shell[k]
  }
  (...s, left = left, width = width, parts = parts, sizes = sizes, tops = tops, lost = lost,
    errors = errors, least = least, most = most, shell = shell, n = n + 27, count = s.count + 28)
}
# Applies the rule to the intervals with these left ends and widths. Returns the
# integrals, those of the absolute value, the range and the largest value at
# nodes, the error due to rounded places, and the difference of the two rules.
_kronrod(g, ends, left, width, m) = {
  s = expand(left + 0.5 * width, 1) + expand(0.5 * width, 1) * _kronrod_nodes
  values = reshape(map(g, ravel(s)), len(left), 15, m)
  # if f is infinite exactly at a node, the value a few rounding units beside it
  # is used
  values = if all(abs(values) < inf) { values } else {
    beside = map(q -> g(q + 8 * sign(q) * _unrest(ends, q)), ravel(s))
    where(abs(values) < inf, values, reshape(beside, len(left), 15, m))
  }
  h = expand(0.5 * width, 1)
  I = h * sum(values * expand(_kronrod_weights, 1); axis = 1)
  G = h * sum(values * expand(_gauss_weights, 1); axis = 1)
  A = 0.5 * width * max(sum(abs(values) * expand(_kronrod_weights, 1); axis = 1); axis = 1)
  steps = abs(values[.., 1..] - values[.., ..-1])
  lost = max(sum(steps * expand(_unrest(ends, s[.., 1..]), 2); axis = 1); axis = 1)
  # rounding does not separate the nodes of so short an interval
  blurred = width < 32 * _unrest(ends, left + 0.5 * width)
  sums = _real_sum(values, 2)
  (value = I, size = A, least = min(sums; axis = 1), most = max(sums; axis = 1),
    top = max(max(abs(values); axis = 2); axis = 1), lost = lost + where(blurred, A, 0.0),
    error = abs(I - G))
}
# Nodes and weights of the Gauss-Kronrod pair (7, 15) on [-1, 1], from the zeros
# of the Legendre and Stieltjes polynomials. The Gauss weights are 0 where only
# the larger rule has a node.
_kronrod_half = [0.9914553711208126, 0.9491079123427585, 0.8648644233597691, 0.7415311855993945,
  0.5860872354676911, 0.4058451513773972, 0.2077849550078985]
_kronrod_nodes = concat(-_kronrod_half, [0.0], flip(_kronrod_half))
_kronrod_half_weights = [0.022935322010529224, 0.06309209262997856, 0.10479001032225019,
  0.14065325971552592, 0.1690047266392679, 0.19035057806478542, 0.20443294007529889]
_kronrod_weights = concat(_kronrod_half_weights, [0.20948214108472782], flip(_kronrod_half_weights))
_gauss_half_weights = [0.0, 0.1294849661688697, 0.0, 0.27970539148927664, 0.0, 0.3818300505051189,
  0.0]
_gauss_weights = concat(_gauss_half_weights, [0.4179591836734694], flip(_gauss_half_weights))
