# quad.dsl - adaptive integrals of functions of one variable, differentiable as
# integrals, and integrals of oscillating functions.
#
# Method: the Gauss-Kronrod pair of 7 and 15 points, globally adaptive. A change
# of variables maps infinite ends to finite ones and weakens singularities at
# the ends (Shampine, Vectorized adaptive quadrature in MATLAB, J. Comput. Appl.
# Math. 211, 2008). There integrals are extrapolated by the epsilon algorithm
# (Wynn 1956; Piessens et al., QUADPACK, 1983). The tanh-sinh rule is an
# alternative. Several dimensions are in cubature.dsl.

# integrate(f, a, b; rtol, atol, limit, rule): integral of f from a to b, either
# of which may be infinite. f takes a scalar and returns a scalar or an array;
# for an array the error is that of the largest element.
#   The estimated error is at most max(atol, rtol * |result|), or as small as
#   rounding allows. It is an error when that needs more than `limit` intervals
#   beyond the ten initial ones.
#   f may be infinite at the ends, as x^-0.99 is, and may decay as slowly as
#   x^-1.01 towards infinity. Divergent integrals are errors, and so are those
#   whose behaviour at the ends cannot be determined, such as 1/(x log(x)^2).
#   Peaks are searched at some hundred more points, denser towards the ends and
#   0. The foot of a peak is where f exceeds the tolerance. A peak is found if
#   its foot covers a hundredth of a finite interval, or extends from one
#   distance from 0 to twice that. A thousandth suffices if f is 0 at most of
#   these points. Towards infinity the foot must cover a fifth of a distance of
#   1 from the finite end, or a fiftieth of one of 10 to 1000. A peak on a base
#   must also rise at one of these points by half the variation of the base
#   nearby. A narrower peak may be missed, and the error estimate does not show
#   it: split the interval at a known peak.
#   Where f compares its argument with a value (`if x < 2`) the interval is
#   split, so pieces of any length count.
#   rule: "gauss_kronrod", or "tanh_sinh" for smooth functions with poles at the
#   ends, such as x^-0.9. Each level of tanh_sinh doubles the points, at most 12
#   times, which is not enough for kinks. The part omitted at the ends is
#   included in the error. [Takahasi and Mori 1974]
#   Derivatives of every order: with respect to captured values the integral of
#   the derivative; with respect to a and b the value there (Leibniz rule).
#   Moving jumps of f contribute to derivatives. Their places are zeros of the
#   comparisons in f, or knots of tables that f searches. A jump that could be
#   located only by trial (in a while loop without a counter, or in the order of
#   elements) is an error that reports its place.
#     integrate(x -> exp(-x^2), -inf, inf)    #~ sqrt(π)
#     integrate(x -> (1 - x)^-0.9, 0, 1)      #~ 10 tol 1e-10
#     (a -> integrate(x -> sin(a * x), 0, 1))'(2.0)   #~ sin(2) / 2 + (cos(2) - 1) / 4
#     (a -> integrate(x -> if x < a { 1.0 } else { 3.0 }, 0, 1))'(0.4)   #~ -2
#     integrate(x -> x^-0.9, 0, 1; rule = "tanh_sinh")      #~ 10 tol 1e-10
integrate(f, a, b; rtol = 1e-10, atol = 0.0, limit = 600, rule = "gauss_kronrod") =
  _integral(f, a + 0.0, b + 0.0, (rtol = rtol, atol = atol, limit = limit, rule = rule)).value

# quadrature(f, a, b; rtol, atol, limit, rule): as integrate, but returns a
# record: value, error (an estimate, no derivative), evaluations of f
#     q = quadrature(exp, 0, 1);
#     (q.error < 1e-10, q.evaluations)      #> (true, 425)
quadrature(f, a, b; rtol = 1e-10, atol = 0.0, limit = 600, rule = "gauss_kronrod") =
  _integral(f, a + 0.0, b + 0.0, (rtol = rtol, atol = atol, limit = limit, rule = rule))

# The change of f along tangents t of its captured values is linear in t, and so
# is its integral. The adjoint of that is the integral of the adjoint.
derivative _integral(f, a, b, o), df, da, db, do = {
  inner = if _absent(df) { 0 * y.value } else {
    (t, still) = _moves(df)
    d = _moved(df, still)
    forward = t -> _integral(_moved(d, t), a, b, o).value
    (_, back) = flatten(still)
    backward =
      w -> back(_integral(x -> flatten(vjp(t -> _moved(d, t)(x), still)[1](w))[0], a, b, o).value)
    linear_map(forward, backward, t)
  }
  upper = if _absent(db) { 0 * y.value } else { f(b) * db }
  lower = if _absent(da) { 0 * y.value } else { f(a) * da }
  jumps = if _absent(df) { 0 * y.value } else { _jump_terms(f, df, a, b, y.value) }
  (value = inner + jumps + upper - lower, error = 0.0, evaluations = y.evaluations)
}
# Where the integrand jumps at a moving place p, the integral changes by (f
# before p - f after p) dp. Such places are zeros of the comparisons c(x) in f,
# which move by -dc/c'; _moving_turns also includes comparisons that do not move
# or have a kink. Continuous functions have equal values on both sides. Where
# several zeros coincide, each contributes the change that it alone causes
# (_jump_of_one).
#
# Sign changes are searched in 256 subintervals, so two closer zeros of one
# comparison are missed.
_jump_terms(f, df, a, b, like) = {
  # the comparisons do not depend on the tangents
  still = _moved(df, _moves(df)[1])
  half = stop_gradient(_on_the_way(a, b, 0.5))
  if len(_switches_and_knots(still, half)) == 0 { 0 * like } else {
    c = x -> _moving_turns(still, x)
    dc = x -> _turn_changes(df, x)
    moves = stop_gradient(_turns_that_move(still, half)) > 0
    total = 0 * like
    n = 256
    for i in 0..n {
      left = stop_gradient(_on_the_way(a, b, i / n))
      right = stop_gradient(_on_the_way(a, b, (i + 1) / n))
      (A, B) = (stop_gradient(c(left)), stop_gradient(c(right)))
      (before, behind) = (A <= 0, B <= 0)
      for k in 0..len(before) {
        if moves[k] and before[k] != behind[k] {
          place = left + (right - left) * A[k] / (A[k] - B[k])
          # most comparisons are linear, as in a table
          if not (abs(stop_gradient(c(place)[k])) <= 1e-15 * (abs(A[k]) + abs(B[k]))) {
            lo = left
            hi = right
            for _ in 0..100 {
              middle = 0.5 * (lo + hi)
              stays = (stop_gradient(c(middle)[k]) <= 0) == before[k]
              lo = if stays { middle } else { lo }
              hi = if stays { hi } else { middle }
            }
            place = 0.5 * (lo + hi)
          }
          # The compared value may itself jump there, as a table does at
          # integers. Then the place does not move.
          fixed = abs(stop_gradient(c(place)[k])) > 1e-9 * (abs(A[k]) + abs(B[k]))
          p = _zero_at(x -> c(x)[k], place)
          side = if left < right { 1.0 } else { -1.0 }
          # first as near to p as its rounding allows, or farther away if
          # rounding in f hides the jump there
          (near, far) =
            (8 * 2.3e-16 * abs(p) + _least_place(left, right), 1e-13 * (abs(p) + abs(right - left)))
          gap = x -> f(p - side * stop_gradient(x)) - f(p + side * stop_gradient(x))
          seen = abs(gap(near)) > 1e-6 * abs(gap(far))
          whole = where(seen, gap(near), gap(far))
          beside = side * (if any(seen) { near } else { far })
          jump = if _is_fixed(len(A)) and len(A) == 1 {
            whole
          } else {
            _jump_of_one(f, c, k, p, whole, beside)
          }
          speed = -dc(p)[k] / where(fixed, 1.0, (x -> c(x)[k])'(p))
          total = total + where(fixed, 0.0, jump) * speed
        }
      }
    }
    total
  }
}
# The change of f at p that comparison k alone causes: `whole` if no other
# comparison changes within `beside` of p. Otherwise it is the mean over two
# orders of changes, the given order and its reverse. For two comparisons these
# are all orders.
_jump_of_one(f, c, k, p, whole, beside) = {
  (q, near) = (stop_gradient(p), stop_gradient(beside))
  met = (stop_gradient(c(q - near)) <= 0) != (stop_gradient(c(q + near)) <= 0)
  if sum(i64(met)) < 2 { whole } else {
    order = iota(len(met))
    at_sides = sides -> _clock_sides(f, sides, p - near, p + near, p)
    # passed: the comparisons that have already changed
    alone = passed -> {
      sides = where(met, where(passed, 1.0, -1.0), 0.0)
      at_sides(where(order == k, -1.0, sides)) - at_sides(where(order == k, 1.0, sides))
    }
    0.5 * (alone(order < k) + alone(order > k))
  }
}
# The point at fraction t of the way from a to b; an end may be infinite. The
# ends themselves are never reached.
_on_the_way(a, b, t) = {
  (short, least) = (1e-12, 1e-30)
  if abs(a) == inf and abs(b) == inf {
    s = short + (1 - 2 * short) * t
    (if a < b { 1.0 } else { -1.0 }) * (2 * s - 1) / (s * (1 - s))
  } else if abs(b) == inf {
    a + (if a < b { 1.0 } else { -1.0 }) * max(t / (1 - (1 - short) * t), least)
  } else if abs(a) == inf {
    b - (if a < b { 1.0 } else { -1.0 }) * max((1 - t) / (short + (1 - short) * t), least)
  } else {
    inside = x -> 4.6e-16 * abs(x) + least * abs(b - a)
    if a < b { clamp(a + (b - a) * t, a + inside(a), b - inside(b)) } else {
      clamp(a + (b - a) * t, b + inside(b), a - inside(a))
    }
  }
}
# Splits the interval where f switches on the variable alone. It also splits at
# knots of tables, where f has a kink or a feature that sample points could
# miss.
_integral(f, a, b, o) = {
  far = abs(a) == inf or abs(b) == inf
  s = _switches_between(x -> _own_switches(f, x),
    () -> map(t -> stop_gradient(_on_the_way(a, b, t)), f64(iota(129)) / 128), if far {
      0.0
    } else {
      _least_place(a, b)
  })
  s = if len(_clock_tables(f, 0.5 * a + 0.5 * b)) == 0 {
    s
  } else if far {
    s
  } else {
    _with_knots(f, s, a, b)
  }
  if _is_fixed(len(s)) { _integral_of_part(f, a, b, o) } else {
    ends = concat(expand(a, 0), s, expand(b, 0))
    # the tolerance of a part with a value near 0 includes the rounding errors
    # of the whole
    o = if far { o } else {
      middle = stop_gradient(0.5 * (ends[1..] + ends[..-1]))
      size =
        sum(map(x -> max(abs(stop_gradient(f(x)))), middle) *
          stop_gradient(abs(ends[1..] - ends[..-1])))
      (...o, atol = max(o.atol, where(size < inf, 1e-15 * size, 0.0)))
    }
    r = _integral_of_part(f, ends[0], ends[1], o)
    for k in 2..len(ends) {
      (from, to) = (ends[k - 1], ends[k])
      # f may alternate between places that differ by rounding only
      short = abs(stop_gradient(to - from)) <=
        1e-11 * min(abs(stop_gradient(from)), abs(stop_gradient(to)))
      q = if short {
        v = (to - from) * f(0.5 * (from + to))
        (value = v, error = max(abs(stop_gradient(v))), evaluations = 1)
      } else { _integral_of_part(f, from, to, o) }
      r = (value = r.value + q.value, error = r.error + q.error, evaluations = r.evaluations +
        q.evaluations)
    }
    r
  }
}
_with_knots(f, s, a, b) = {
  (watched, tables) = (x -> _watched(f, x), x -> _clock_tables(f, x))
  if len(watched(0.5 * a + 0.5 * b)) == 0 { s } else {
    knots = _now(() -> _primal(() -> _sharp_knots(watched, tables, a + 0.0, b + 0.0, 128, true)))
    _with_bent_knots((watched = watched, tables = tables), _with_breaks(s, knots, a, b), a, b, 4096)
  }
}
_integral_of_part(f, a, b, o) =
  if o.rule == "gauss_kronrod" {
    if abs(a) == inf and abs(b) == inf {
      _on_both_sides(f, a, b, o)
    } else {
      _globally(f, a, b, (...o, two = false))
    }
  } else if o.rule == "tanh_sinh" { _tanh_sinh(f, a, b, o) } else {
    error("integrate: a rule is \"gauss_kronrod\" or \"tanh_sinh\"")
  }
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

# ---- double exponential

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

# ---- oscillating integrands

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
