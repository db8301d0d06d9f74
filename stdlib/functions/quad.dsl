# quad.dsl - integrals of functions of a number, as accurate as is asked for,
# and differentiated as integrals; oscillating integrands; Gauss's rules.
#
# The Gauss-Kronrod pair of 7 and 15 points, globally adaptive; a change of the
# variable takes infinite ends to finite ones and weakens singularities at the
# ends (Shampine, Vectorized adaptive quadrature in MATLAB, J. Comput. Appl.
# Math. 211, 2008), at which integrals are extrapolated by the epsilon algorithm
# (Wynn 1956; Piessens et al., QUADPACK, 1983); or the tanh-sinh rule. Several
# dimensions are in cubature.dsl.

# integrate(f, a, b; rtol, atol, limit, rule): integral of f from a to b, either
# of which may be infinite. f takes a number and gives a number or an array,
# whose largest element then counts. The error is estimated to be below
# max(atol, rtol * |result|), or as small as rounding allows; an error says when
# that is not reached with `limit` more intervals than the ten it begins with. f
# may be infinite at the ends, as x^-0.99 is, and fall as slowly as x^-1.01 to
# infinity; integrals that diverge, or whose ends cannot be told, as of 1/(x
# log(x)^2), are refused.
# Peaks are looked for at some hundred places more, ever nearer to the ends and
# to 0: one is found whose foot, where f is more than the tolerance, reaches
# over a hundredth of a finite interval, or doubles its distance from 0; over a
# thousandth where f is 0 at most of these places; to infinity, a fifth of a
# distance of 1 from the finite end, or a fiftieth of one of 10 to 1000. On a
# base, it must besides rise at one of these places by half of what the base
# changes by around. A narrower one between them may be missed, and the error
# does not tell: cut the interval where one is known to be. Where f compares its
# argument with something (`if x < 2`) the interval is cut: what is there for a
# short while counts, however short it is.
#   rule: "gauss_kronrod", or "tanh_sinh" for smooth functions with poles at the
#   ends, such as x^-0.9: each level of it doubles the points, 12 at most, which
#   is not enough for kinks. What it leaves out at the ends counts to the error.
#   [Takahasi and Mori 1974]
#   Derivatives, of every order: by what f captures the integral of the
#   derivative, by a and b the value there (Leibniz).
#   A jump of f at a place that moves counts: its place is a zero of what f
#   compares, or a knot of a table that f searches. Of a jump that is found in
#   no other way than by trying (in a while without a counter, of the order of
#   elements) an error tells the place.
#     integrate(x -> exp(-x^2), -inf, inf)    #~ sqrt(π)
#     integrate(x -> (1 - x)^-0.9, 0, 1)      #~ 10 tol 1e-10
#     (a -> integrate(x -> sin(a * x), 0, 1))'(2.0)   #~ sin(2) / 2 + (cos(2) - 1) / 4
#     (a -> integrate(x -> if x < a { 1.0 } else { 3.0 }, 0, 1))'(0.4)   #~ -2
#     integrate(x -> x^-0.9, 0, 1; rule = "tanh_sinh")      #~ 10 tol 1e-10
integrate(f, a, b; rtol = 1e-10, atol = 0.0, limit = 600, rule = "gauss_kronrod") =
  _integral(f, a + 0.0, b + 0.0, (rtol = rtol, atol = atol, limit = limit, rule = rule)).value

# quadrature(f, a, b; rtol, atol, limit, rule): as integrate, a record: value,
# error (an estimate, no derivative), evaluations of f
#     q = quadrature(exp, 0, 1);
#     (q.error < 1e-10, q.evaluations)      #> (true, 425)
quadrature(f, a, b; rtol = 1e-10, atol = 0.0, limit = 600, rule = "gauss_kronrod") =
  _integral(f, a + 0.0, b + 0.0, (rtol = rtol, atol = atol, limit = limit, rule = rule))

# The change of f along the tangents t of what it captures is linear in t; so is
# its integral, whose adjoint is the integral of the adjoint.
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
# Where the integrand jumps at a place p that moves, the integral changes by (f
# before p - f behind p) dp. Such places are zeros of what f compares, also of
# what stands, or bends (_moving_turns): of c(x) they move by -dc/c'. Changes of
# sign are looked for in 256 parts of the way, so that two zeros of one
# comparison closer than that are not seen. What does not jump there has equal
# values on both sides. Where several are at one place each counts what it alone
# changes (_jump_of_one).
_jump_terms(f, df, a, b, like) = {
  # what is compared does not depend on the tangents
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
          # what is compared is mostly linear, as in a table
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
          # what is compared may jump there, as a table does by whole numbers:
          # then the place does not move
          fixed = abs(stop_gradient(c(place)[k])) > 1e-9 * (abs(A[k]) + abs(B[k]))
          p = _zero_at(x -> c(x)[k], place)
          side = if left < right { 1.0 } else { -1.0 }
          # as near as p itself allows, if that is beyond what is rounded in f
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
# What comparison k alone changes f by at its zero p: `whole` if no other
# changes within `beside` of p. Else it is the mean of two orders of changes,
# that in which they stand and its reverse. For two comparisons these are all
# orders.
_jump_of_one(f, c, k, p, whole, beside) = {
  (q, near) = (stop_gradient(p), stop_gradient(beside))
  met = (stop_gradient(c(q - near)) <= 0) != (stop_gradient(c(q + near)) <= 0)
  if sum(i64(met)) < 2 { whole } else {
    order = iota(len(met))
    at_sides = sides -> _clock_sides(f, sides, p - near, p + near, p)
    # passed: those behind whose place it is already
    alone = passed -> {
      sides = where(met, where(passed, 1.0, -1.0), 0.0)
      at_sides(where(order == k, -1.0, sides)) - at_sides(where(order == k, 1.0, sides))
    }
    0.5 * (alone(order < k) + alone(order > k))
  }
}
# the place behind a share t of the way from a to b, of which an end may be
# infinite; never quite there
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
# Parts end where f switches by the variable alone, and at knots of tables where
# something may hide between places that are looked at or where f bends.
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
    # a part whose value is nearly 0 has roundings of the whole
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
      # between places that only rounding tells apart f may jump to and fro
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
# Globally adaptive: of all intervals so far the one with the largest error is
# halved (Piessens et al., QUADPACK, 1983). When the tolerance is met, places
# between those that the rule has looked at are tried; where f is large there
# and was not, intervals are refined, and it goes on. From -inf to inf: the
# halves on both sides of 0 as elements of an array, so that one does not hide
# that the other diverges.
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
  # peaks, and else hardly anything but 0
  spiky = 8 * sum(i64(values > 1e-6 * max(values))) < len(values)
  # most functions ask for no more than that
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
# Largest absolute values at places; where one is not finite there is a pole or
# a gap, which the rule never meets.
_sizes_between(g, q, m) = _values_between(g, q, m)[0]
# with the sums of the values
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
    # a peak at which an interval was cut is at no node any more
    if k < 0 and turns < 10 and s.n + 27 <= len(s.left) {
      # the middle is both the first and the last of these
      cuts = sort(concat(s.left[..s.n], [max((s.left + s.width)[..s.n])]))
      v = _sizes_between(g, cuts, m)
      (k, at) =
        _overlooked(concat(cuts[..-1], cuts[1..] - 1e-12 * (cuts[1..] - cuts[..-1])),
          concat(v[..-1], v[1..]), s, o)
    }
    # where hardly anything but 0 has been seen, many more places are tried
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
# How places x are told: by the distance from the nearer end, as a power of |q|,
# q negative from b on. There is no cancellation towards either end,
# singularities there are weakened, and infinite ends brought near: the middle,
# or the place 1 away from the finite end, is q = 1 and q = -1. Between finite
# ends the power is that of the tips, |q| < 0.2; in the middle x is even in q.
#   least: the width of an interval at an end whose first node rounding still
#   tells from that end, or which is as far out as numbers go
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
# the part of the way between finite ends that is behind z = |q|, its slope, and
# z from it
_part_behind(z) = where(z < 0.2, z^2 / 0.72, (0.4 * z - 0.04) / 0.72)
_slope_behind(z) = where(z < 0.2, 2 * z, 0.4) / 0.72
_before_part(t) = where(t < 0.04 / 0.72, sqrt(0.72 * abs(t)), (0.72 * t + 0.04) / 0.4)
# (x, dx/dq) at q
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
# by how much rounding of x moves q
_unrest(ends, q) = {
  (x, dx) = _place_at(ends, q)
  finite = x -> if abs(x) < inf { abs(x) } else { 0.0 }
  1.1e-16 * max(abs(x), where(q > 0, finite(ends.a), finite(ends.b))) / max(abs(dx), 1e-300)
}
# The intervals so far, from left and with a width: parts of the integral, sizes
# (integrals of the absolute value), least and most (values at nodes, of the sum
# of elements), tops (the largest value at nodes), lost (what rounding of places
# makes of them), errors; shell: see _cut_in_two. tip: the intervals at the
# ends, depth: how often they have been halved, deep: how often they must be,
# extrapolated: whether their parts are extrapolations.
_ten_intervals(g, ends, m) = {
  left = 0.2 * (iota(10) - 5)
  width = zeros(10) + 0.2
  h = _kronrod(g, ends, left, width, m)
  (left = left, width = width, parts = h.value, sizes = h.size, tops = h.top, lost = h.lost,
    errors = max(h.error; axis = 1), least = h.least, most = h.most, shell = iota(10) * 0 - 1,
    n = 10, count = 10, tip = [5, 4], depth = [0, 0], deep = [0, 0], extrapolated = [false, false])
}
# with room for `limit` more
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
        # an end can be neared no further
        if not any(shallow) {
          at = if end == 0 { a } else { b }
          if abs(at) == inf {
            error(
              "integrate: the integral from {a} to {b} diverges, or the function falls too "
              "slowly, or oscillates (see oscillatory); the error is estimated to be "
              "{sum(s.errors):.1e}")
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
            "integrate: the tolerance is not reached between {a} and {b} with {o.limit} "
            "intervals; the error is estimated to be {sum(s.errors):.1e}")
        }
        s = _cut_in_two(g, ends, s, k, end, m)
      }
    }
  }
  s
}
# Interval k is halved. The half of a tip that is not at the end any more is a
# shell, with the number 2 * (which of them) + (0 at a, 1 at b), and so are its
# halves; all others have the number -1.
_cut_in_two(g, ends, s, k, end, m) = {
  (left, width, parts, sizes, tops, lost) = (s.left, s.width, s.parts, s.sizes, s.tops, s.lost)
  (errors, least, most, shell) = (s.errors, s.least, s.most, s.shell)
  (tip, depth, extrapolated, n) = (s.tip, s.depth, s.extrapolated, s.n)
  (before, missed) = (parts[k], errors[k])
  w = 0.5 * width[k]
  two = [left[k], left[k] + w]
  h = _kronrod(g, ends, two, [w, w], m)
  # an interval as exact as rounding allows is not looked at again
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
    # at a it is the first half that stays at the end, at b the second
    (t, outer) = if e == 0 { (k, n) } else { (n, k) }
    shell[t] = -1
    shell[outer] = 2 * depth[e] + e
    tip[e] = t
    depth[e] = depth[e] + 1
    ours = where(shell % 2 == e and shell >= 0, shell // 2, -1)
    r = _beyond(parts, ours, depth[e], parts[t], h.error[e], sum(sizes))
    error = if r.extrapolated { r.error } else { max(errors[t], r.error) }
    # what was known of the whole tip may be better than what rounding lets the
    # last shells say
    known = missed + raw[1 - e]
    kept = extrapolated[e] and known <= error
    parts[t] = if kept { before - h.value[1 - e] } else { r.value }
    errors[t] = if kept { known } else { error }
    extrapolated[e] = kept or r.extrapolated
    # an extrapolation does not look into the tip
    if extrapolated[e] { lost[t] = 0.0 }
  }
  (...s, left = left, width = width, parts = parts, sizes = sizes, tops = tops, lost = lost,
    errors = errors, least = least, most = most, shell = shell, tip = tip, depth = depth,
    extrapolated = extrapolated, n = n + 1, count = s.count + 2)
}
# What there is in a tip, behind so many shells, by the rule (value, its
# differences miss) or by what the shells say. Where these fall by a ratio r,
# the rest is about r/(1 - r) of the last one: what the rule misses of a
# singularity is that much larger than the difference of two rules. Where the
# ratio does not move any more, the sums of the shells converge geometrically,
# and the epsilon algorithm finds their limit; where it tends to 1, as for 1/(x
# log(x)^2), they are not extrapolated.
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
  # rounding has no ratio
  small = abs(last) + abs(value) <= 1e-14 * whole
  behind = max(where(small, abs(miss), abs(miss) / max(1 - r, 1e-12)))
  if c < 6 { (value = value, error = behind, extrapolated = false) } else {
    sums = cumsum(S[..c])
    limit = sums -> map(v -> _epsilon(v), transpose(sums))
    (best, other, third) = (limit(sums), limit(sums[..-1]), limit(sums[..-2]))
    q = ratio(before, early)
    # of shells that fall as a power of their number, the ratio moves by more
    # than a part of the square of its distance from 1; and shells that are next
    # to nothing do not tell of a tip where the rule sees a peak
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
# Places to try, as q: round ones, and ones that near the ends step by step, so
# that the foot of a narrow peak is among them
_tried(ends) = if abs(ends.a) == inf or abs(ends.b) == inf {
  _from_finite_end(ends,
    concat(_halvings(-50, -2), 0.2 * (1 + iota(50)), iota(90) + 11.0, 100 * 1.02^(1.0 + iota(115)),
      _halvings(10, 30), 10.0^(3.0 + iota(7))))
} else {
  z = _before_part(concat(0.01 * (1 + iota(49)), _halvings(-40, -6)))
  # 0 between the ends or at one of them, which may be far away, and the middle
  beside = concat(64.0^(-7.0 - iota(20)), _halvings(-40, -6))
  x = abs(ends.b - ends.a) * concat(beside, -beside)
  (from_a, from_b) = ((x - ends.a) / (ends.b - ends.a), (x - ends.b) / (ends.a - ends.b))
  inside = from_a > 0 and from_b > 0
  concat(z, -z, [1.0],
    where(inside, where(from_a < 0.5, _before_part(from_a), -_before_part(from_b)), 1.0))
}
_halvings(m, n) = 2.0^(m + iota(n - m))
# the same everywhere, and so many that no peak hides whose foot is a thousandth
# as wide as the interval, or a hundredth as its distance from the finite end
_tried_densely(ends) = if abs(ends.a) == inf or abs(ends.b) == inf {
  _from_finite_end(ends, 1e-3 * 1.0105^(0.0 + iota(2000)))
} else { z = _before_part((iota(1000) + 0.5) / 2000); concat(z, -z) }
# q of places so far from the finite end
_from_finite_end(ends, y) = {
  z = sqrt(sqrt(where(y < 1, y, 1 / y)))
  if ends.up { where(y < 1, z, -z) } else { where(y < 1, -z, z) }
}
# (an interval, the place in it): where f is ten times as large at a place that
# was tried as at all nodes of its interval, and that counts; -1 when it is so
# nowhere. Tips that are extrapolated are known to grow.
_overlooked(q, values, s, o) = {
  k = _intervals_of(q, s)
  known = (k == s.tip[0] and s.extrapolated[0]) or (k == s.tip[1] and s.extrapolated[1])
  more = where(values > 10 * s.tops[k] and not known, values * s.width[k], 0.0)
  i = argmax(more)
  (if more[i] > _tolerance(s, o) { k[i] } else { -1 }, q[i])
}
# The same where f, the sum of its elements, is by more than half of what it
# changes by within its interval above or below all that the nodes there show: a
# peak on a base. Not at the ends, where f may be singular.
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
# in which interval each place is
_intervals_of(q, s) = {
  left = where(iota(len(s.left)) < s.n, s.left, inf)
  order = argsort(left)
  order[searchsorted(left[order], q) - 1]
}
# Interval k with the place q in it: intervals that become shorter towards q; a
# tip is halved until q is outside.
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
# Integrals over the intervals from left, of these widths, of the absolute
# value, too, the largest value at nodes, what rounding of places makes of it,
# and the difference of the two rules
_kronrod(g, ends, left, width, m) = {
  s = expand(left + 0.5 * width, 1) + expand(0.5 * width, 1) * _kronrod_nodes
  values = reshape(map(g, ravel(s)), len(left), 15, m)
  # where f is infinite at one place only that a node hits, the value a few
  # roundings beside it serves
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
  # rounding does not tell the nodes of so short an interval apart
  blurred = width < 32 * _unrest(ends, left + 0.5 * width)
  sums = _real_sum(values, 2)
  (value = I, size = A, least = min(sums; axis = 1), most = max(sums; axis = 1),
    top = max(max(abs(values); axis = 2); axis = 1), lost = lost + where(blurred, A, 0.0),
    error = abs(I - G))
}
# Nodes and weights of the Gauss-Kronrod pair (7, 15) on [-1, 1], from the zeros
# of the Legendre and Stieltjes polynomials; the Gauss weights have zeros where
# only the larger rule has a node.
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

# Sums over t = j h of f(x(t)) x'(t), with x(t) so that x' vanishes double
# exponentially: between a and b by tanh(π/2 sinh t), to infinity by exp(π/2
# sinh t), both ways by sinh(π/2 sinh t). h is halved until two sums agree; the
# last is then much better than that. Places are told by their distance from the
# nearer end.
_tanh_sinh(f, a, b, o) = {
  both = abs(a) == inf and abs(b) == inf
  up = not both and abs(b) == inf
  down = not both and abs(a) == inf
  way = if a < b { 1.0 } else { -1.0 }
  g = t -> {
    s = 1.5707963267948966 * sinh(t)
    ds = 1.5707963267948966 * cosh(t)
    # the share of the way from the nearer end, and its slope
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
    # at the ends themselves, which rounding reaches, the weight has vanished
    v = f(if x == a or x == b {
      0.5 * (if abs(a) < inf { a } else { 0.0 }) + 0.5 * (if abs(b) < inf { b } else { 0.0 }) + 0.25
    } else {
      x
    })
    where(x == a or x == b or not (w < inf and w > -inf) or w == 0, 0 * _finite(v), v * w)
  }
  like = 0 * _finite(g(0.1))
  # beyond, exp(2|s|) leaves the numbers
  extent = if both or up or down { 6.0 } else { 6.1 }
  n = 6
  h = extent / n
  points = h * (iota(2 * n + 1) - n)
  values = reshape(map(g, points), len(points), size(like))
  total = h * sum(values; axis = 0)
  count = 2 * n + 1
  level = 1
  (miss, change, former) = (inf, inf, inf)
  # by t the sizes at nodes, and at places where integrate looks
  tops = max(abs(values); axis = 1)
  at = _steps_of_places(a, b)
  seen = if a == b { 0.0 * at } else { _sizes_between(g, at, size(like)) }
  # What is behind the last places on both sides, which rounding or the largest
  # numbers set: u = f dx/ds falls by a power of exp(s), which two of the last
  # values show, and its integral is that of the power.
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
    # old nodes and new ones, in turn
    tops = concat(ravel(stack(tops[..-1], max(abs(values); axis = 1); axis = 1)), tops[-1..])
    (oldest, former, change) = (former, change, max(abs(total - last)))
    if not (change < inf) {
      error("integrate: the function, or its integral, is infinite or NaN between {a} and {b}")
    }
    # twice the digits of the change, once the last two have come so; else, as
    # at a kink, they fall by a ratio
    whole = max(max(abs(total)), 1e-300)
    doubled = (p, q) -> q < whole * (p / whole)^1.5
    miss = if level < 3 { change } else if doubled(former, change) and doubled(oldest, former) {
      max(min(change, 10 * change^2 / whole), 1e-16 * whole)
    } else { max(change, 0.125 * former) }
    miss = miss + lost
    level = level + 1
    tolerance = max(max(o.atol, o.rtol * max(abs(total))), 1e-15 * max(abs(total)))
    # a place where it is half as large again as at both nodes beside it: a peak
    # between these
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
        "integrate: the tolerance is not reached between {a} and {b}; the error is estimated to "
        "be {miss:.1e}. \"gauss_kronrod\" is for kinks and peaks")
    }
  }
  (value = reshape(if a == b { 0 * total } else { total }, shape(like)), error = miss,
    evaluations = count + 2 * edges + len(at))
}
# The t of places where integrate looks (_tried)
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
# exp(i phase(x)) from a to b; of f(x) cos or sin(phase(x)) with part = "cos" or
# "sin"
#   phase: a number ω, for ω x, or a function; f takes a number and gives one,
#   real or complex. The cost does not grow with the phase. a and b may be
#   infinite for a phase ω x and an f that falls to 0 at last without
#   oscillating itself. Where the phase turns far, p' + i phase' p = f is solved
#   by collocation at 17 Chebyshev points, on intervals that are halved. The
#   first turns behind a and before b, and what hardly turns at all, are
#   integrated as by integrate, so that f may be infinite at the ends; peaks of
#   f are looked for at the places of integrate.
#   To infinity, integrals over half periods are extrapolated by the epsilon
#   algorithm.
#   Derivatives, of every order, by what f and phase capture and by a and b, on
#   the intervals found. [Levin, Math. Comp. 38, 1982; Chen, Serkh and Bremer
#   2022; Wynn 1956]
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
  # a part of a complex f is that of its own parts
  if part != "exp" and _is_complex(0 * f(stop_gradient(_on_the_way(a, b, 0.5)))) {
    over(x -> real(f(x))) + im * over(x -> imag(f(x)))
  } else { over(f) }
}
# What is to infinity is turned so that it is from a number upwards.
_oscillating_far(f, omega, a, b, o) = {
  (up, back) = (_oscillating_on, x -> f(-x))
  if abs(a) < inf and abs(b) < inf { _oscillating(f, x -> omega * x, a, b, true, o) }
  else if a == b { 0 * _oscillating(f, x -> omega * x, 0.25, 0.75, false, o) }
  else if abs(a) == inf and abs(b) == inf {
    (if a < b { 1.0 } else { -1.0 }) * (up(f, omega, 0.0, o) + up(back, -omega, 0.0, o))
  } else if abs(b) == inf { if a < b { up(f, omega, a, o) } else { -up(back, -omega, -a, o) } }
  else { if a < b { up(back, -omega, -b, o) } else { -up(f, omega, b, o) } }
}
# Between finite ends. The parts of the way where intervals end are found
# without derivatives; what they add up to has derivatives. Without `look`,
# which is for short parts of a smooth tail, neither ends nor places are
# special.
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
  # the ends themselves, so that their derivatives are not mixed
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
# integrate takes real numbers
_parts_as_reals(v) = if _is_complex(v) { stack(real(v), imag(v)) } else { v }
_as_oscillating(r, like) =
  (value = if _is_complex(like) { r.value[0] + im * r.value[1] } else { r.value }, error = r.error)
# how far the phase turns on an interval, if it does not turn back more than
# once
_turn(g, l, w) =
  abs(stop_gradient(g(l + w) - g(l))) + abs(stop_gradient(g(l + w) + g(l) - 2 * g(l + 0.5 * w)))
# the part of the way from l on in which it turns by 10 at most; 0 where numbers
# do not tell it from l
_first_turns(g, l, w) = {
  t = 0.25
  while _turn(g, l, t * w) > 10 and abs(t * w) > 1e-14 * abs(l) + 1e-290 { t = 0.5 * t }
  if abs(t * w) > 1e-14 * abs(l) + 1e-290 { t } else { 0.0 }
}
# The panels (left, width) from `first` on, as parts of the way, that the
# tolerance needs; known: what is added to them.
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
    # phases are rounded, too
    tolerance = max(max(atol, rtol * abs(total)), 1e-14 * (sum(abs(parts)) + known.size))
    miss = sum(errors) + rough + known.error
    k = argmax(errors)
    open = miss > tolerance
    if not open and look {
      # where f is ten times as large at a place as at all nodes of its panel,
      # and that counts
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
      # what is as exact as rounding allows, or too short to be cut, is not
      # looked at again
      short = w < 1e-15
      rough = rough + (if short { E1 + E2 } else { 0.0 })
      errors[k] = if short or E1 <= 1e-15 * abs(I1) { 0.0 } else { E1 }
      errors[n] = if short or E2 <= 1e-15 * abs(I2) { 0.0 } else { E2 }
      n = n + 1
    }
  }
  (left[..n], width[..n])
}
# (parts of the way, |f| there) where integrate would look, more densely where
# all of it is 0
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
# One interval: (integral, estimate of its error, the largest value of f at
# nodes)
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
# differentiation at Chebyshev points (Trefethen, Spectral Methods in MATLAB,
# 2000, chapter 6; the diagonal by sums of rows)
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

# To infinity: half periods, and Wynn's epsilon algorithm for their sums. The
# first of them end where f is behind its peaks, as places tell, and where the
# phase has a whole number of turns.
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
  # f by lengths that grow, so that what is near a is not lost in a long way
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
    # the sums of what does not fall have a limit for the algorithm, but no
    # integral
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
# The distance from a of the last place up to which f grows to twice what it was
_last_rise(f, a) = {
  y =
    sort(concat(_halvings(-50, -2), 0.2 * (1 + iota(50)), iota(90) + 11.0,
      100 * 1.02^(1.0 + iota(115)), _halvings(10, 30), 10.0^(3.0 + iota(7))))
  v = map(y -> { v = abs(stop_gradient(f(a + y))); where(v < inf, v, 0.0) }, y)
  # the lowest of the last way down
  low = v[0]
  far = 0.0
  for i in 1..len(y) {
    if v[i] > v[i - 1] {
      if v[i] > 2 * low and v[i] > 1e-30 * max(v) { far = y[i] }
    } else { low = if v[i - 1] > v[max(i - 2, 0)] { v[i] } else { min(low, v[i]) } }
  }
  1.02 * far
}
# the last element of the table's last even column that rounding leaves sense to
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
