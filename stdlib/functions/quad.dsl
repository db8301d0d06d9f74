# quad.dsl - integrals of functions of one variable, differentiable as
# integrals.
#
# Method: the interval is split where the integrand switches or a table has a
# knot. A rule integrates each part: Gauss-Kronrod (gauss_kronrod.dsl) or
# tanh-sinh (tanh_sinh.dsl). The derivative of an integral is the integral of
# the derivative, with the Leibniz rule at the ends and a term for each moving
# jump. Several dimensions are in cubature.dsl.

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
