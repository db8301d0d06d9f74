# breakpoints.dsl - breakpoints of values that depend on one coordinate alone:
# switches, jumps and kinks.
#
# Sources are comparisons (switching.dsl), library functions that jump, and
# tables with kinks. A pulse between two knots of a table may be shorter than
# any even sampling.
#
# Method: dataflow analysis finds the tables that a program searches by one
# coordinate (_clock_tables), and values are evaluated where their knots are
# passed.

# Returns the values of f that depend on t alone, f64[k]: those that cannot fail
# (_clock_values), and table lookups (_clock_lookups), nan where a lookup fails.
_watched(f, t, ...more) = {
  own = _clock_values(f, t, ...more)
  # At another place, so that the length does not force the lookup at t.
  n = len(_clock_lookups(f, 0.0 * t, ...more))
  if _is_fixed(n) and n == 0 { own } else {
    concat(own, try { _clock_lookups(f, t, ...more) } catch m { nan + zeros(n) })
  }
}

# Returns where a problem must restart between a and b, or have its nodes:
# f64[n], in the order from a to b. along: the functions compared, watched,
# tables and, to include comparisons of the library, others (_clock_of). all:
# includes all knots at which a table has an extremum, else only those close to
# each other.
_breaks_along(along, a, b, all) = {
  s = _switch_times(along.compared, a, b)
  s = if not has(along, "others") { s } else if len(along.others(a + 0.0)) == 0 { s } else {
    _with_jumps(along, s, a, b)
  }
  if len(along.tables(a + 0.0)) == 0 or len(along.watched(a + 0.0)) == 0 { s } else {
    (watched, tables) = (along.watched, along.tables)
    _with_breaks(s,
      _now(() -> _primal(() -> _sharp_knots(watched, tables, a + 0.0, b + 0.0, 1024, all))), a, b)
  }
}
# Merges into s, places in the order from a to b, those of `more` that are not
# in it.
_with_breaks(s, more, a, b) = {
  known = concat([-inf], sort(stop_gradient(s)), [inf])
  k = searchsorted(known, stop_gradient(more))
  whole = concat(s,
    more[min(more - known[k - 1], known[min(k, len(known) - 1)] - more) > _near_knots(more, a, b)])
  whole[argsort((if b < a { -1.0 } else { 1.0 }) * whole)]
}

# Adds to s the places where comparisons in the library make values jump, as
# densities do at their ends. A mere choice of a formula makes no jump.
_with_jumps(along, s, a, b) = {
  t = _switch_times(along.others, a, b)
  watched = along.watched
  jumps = _primal(() -> map(t -> f64(_jumps_in(watched, t, t, abs(b - a))), stop_gradient(t)))
  _with_breaks(s, t[jumps > 0], a, b)
}
# Whether f, f64[k], jumps between lo and hi, in an interval of this length: a
# difference that remains when both sides come closer by a factor of a hundred
# is a jump.
_jumps_in(f, lo, hi, length) = {
  (V, W) = (f(lo - 1e-10 * length), f(hi + 1e-10 * length))
  (near, far) = (abs(W - V), abs(f(hi + 1e-8 * length) - f(lo - 1e-8 * length)))
  any(not (near <= 1e-6 * (abs(V) + abs(W)) or near <= 0.1 * far) and (V == V or W == W))
}

# Adds to s the places where abs, max, min or the knots of tables give watched
# values a kink or a jump: of each kind at most 256 for kinks, 10,000 for jumps.
# A step ends there, so that derivatives with respect to the place are correct.
_with_bends(along, s, a, b) = {
  watched = along.watched
  s = if len(along.bends(a + 0.0)) == 0 {
    s
  } else {
    _with_bent(watched, s, _switch_times(along.bends, a, b), a, b, 256)
  }
  _with_bent_knots(along, s, a, b, 256)
}
# Returns the same for knots of tables alone, each with so many at most.
_with_bent_knots(along, s, a, b, most) = {
  for k in each(len(along.tables(0.5 * a + 0.5 * b))) {
    none_ = _is_fixed(len(along.tables(0.5 * a + 0.5 * b)[k][1])) and
      len(along.tables(0.5 * a + 0.5 * b)[k][1]) == 0
    s = if none_ {
      s
    } else {
      _with_bent(along.watched, s, _knot_times(t -> along.tables(t)[k], a, b), a, b, most)
    }
  }
  s
}
_with_bent(watched, s, t, a, b, most) = if _is_fixed(len(t)) and len(t) == 0 { s } else {
  counts = _now(() -> _primal(() -> {
    (few, length) = (len(t) <= most, abs(b - a))
    known = if len(t) <= 10000 { stop_gradient(t) } else { zeros(0) }
    marks =
      map(t -> f64(if few {
        _bends_at(watched, t, length)
      } else {
        _jumps_in(watched, t, t, length)
      }), known)
    concat(marks, zeros(len(t) - len(known)))
  }))
  _with_breaks(s, t[counts > 0], a, b)
}
# Returns 0. Its derivative is an error where f searches a table whose knots
# move with the differentiated parameter, and watched values jump at one of
# these between a and b. Dataflow analysis of f finds the moving knots
# (_moving_knots). time: these are times and not places.
_kept_knots(f, watched, a, b, time) = 0.0
derivative _kept_knots(f, watched, a, b, time), df, dw, da, db,
  dtime = _kept_knots_of(_moved(df, _moves(df)[1]), watched, a, b, time)
_kept_knots_of(df, watched, a, b, time) = {
  if len(_moving_knots(df, a)) > 0 and len(watched(a + 0.0)) > 0 {
    jumps = _primal(() -> {
      at = _switches_between(t -> _moving_knots(df, t), () -> a + (b - a) * f64(iota(257)) / 256,
        _least_place(a, b))
      any(map(t -> _jumps_in(watched, t, t, abs(b - a)), at))
    })
    if jumps and time {
      error(
        "the problem jumps where a table is searched, at a time that depends on what is "
        "differentiated by: elements and equations without a rate have no derivative by it; fd(), "
        "chebyshev() and fourier() of fields with rates have")
    }
    if jumps and not time {
      error(
        "the problem jumps where a table is searched, at a place that depends on what is "
        "differentiated by, and its solutions on a grid have no such derivative: interp() between "
        "the values has")
    }
  }
  0.0
}

# Whether f, f64[k], has different slopes before and after t, in an interval of
# this length. For a smooth f, the difference of slopes would be ten times
# larger over ten times the distance.
_bends_at(f, t, length) = {
  h = 1e-7 * length
  turn = h -> abs((f(t + h) - f(t)) - (f(t) - f(t - h))) / h
  (near, far) = (turn(h), turn(10 * h))
  any(near > 0.3 * far and near * length > 1e-6 * abs(f(t)) and near * h > 1e-12 * abs(f(t)))
}
# Returns the times at which the search argument of a table, table(t) = (f64[m],
# knots), passes its knots between a and b, ascending. Their derivatives follow
# both.
_knot_times(table, a, b) = {
  (lo, hi) = (stop_gradient(a + 0.0), stop_gradient(b + 0.0))
  found = _now(() -> _primal(() -> {
    places = lo + (hi - lo) * f64(iota(1025)) / 1024
    sort(_knots_passed(t -> table(t)[0], table(lo)[1], places)[0])
  }))
  at =
    found[_are_apart(found, _near_knots(found, lo, hi)) and abs(found - lo) > 0 and abs(hi -
      found) > 0]
  map(t -> {
    off = abs(expand(stop_gradient(table(t)[0]), 1) - expand(stop_gradient(table(t)[1]), 0))
    (e, i) = (argmin(min(off; axis = 1)), argmin(min(off; axis = 0)))
    _moving_zero(s -> table(s)[0][e] - table(s)[1][i], t)
  }, at)
}

# Returns the places of knots at which values have an extremum of more than a
# hundredth of their range: f64[k], ascending. These are all knots in one of n
# even parts that exceed both of its ends (later steps do not sample within a
# part). They are also those that exceed both neighbours, with these, if one is
# closer than four parts or `all` is set. Monotone changes are detected by later
# steps. Cost: n + 1 values and those at all knots, which are found by bisection
# unless the argument grows linearly.
_sharp_knots(watched, tables, a, b, n, all) = {
  places = a + (b - a) * f64(iota(n + 1)) / n
  V = _seen_at(watched, places)
  out = zeros(0)
  for k in each(len(tables(a))) {
    (at, part) = _knots_passed(t -> tables(t)[k][0], tables(a)[k][1], places)
    # The ends of the interval are neighbours of the first and the last knot.
    order = argsort(at)
    first = _are_apart(at[order], _near_knots(at[order], a, b))
    (at, part) =
      (concat(stack(min(a, b)), at[order][first], stack(max(a, b))),
        concat([0], part[order][first], [0]))
    W = _seen_at(watched, at)
    finite = concat(V, W; axis = 0)
    range = max(where(abs(finite) < inf, finite, -inf); axis = 0) -
      min(where(abs(finite) < inf, finite, inf); axis = 0)
    # Changes below this are rounding.
    least = max(0.01 * range, 1e-9 * max(where(abs(finite) < inf, abs(finite), 0.0)))
    sharp = at < -inf
    hides = zeros(n)
    for i in 1..len(at) - 1 {
      p = part[i]
      if any(_outside_of(W[i], V[p], V[p + 1]) > least) { hides[p] = 1.0 }
      near = min(at[i] - at[i - 1], at[i + 1] - at[i]) * n < 4 * abs(b - a)
      if (all or near) and any(_outside_of(W[i], W[i - 1], W[i + 1]) > least) {
        sharp[i - 1] = true
        sharp[i] = true
        sharp[i + 1] = true
      }
    }
    inner = iota(len(at)) > 0 and iota(len(at)) < len(at) - 1
    out = concat(out, at[inner and (sharp or hides[part] > 0)])
  }
  out = sort(out)
  out[_are_apart(out, _near_knots(out, a, b))]
}
# Returns the distance within which places between a and b found by bisection
# are equal.
_near_knots(at, a, b) = stop_gradient(1e-13 * abs(at) + _least_place(a, b))
# Returns which of ascending places are not too close to the previous one.
_are_apart(at, near) = at - concat([-inf], at)[..len(at)] > near
# Returns how far w is outside of the interval between a and b.
_outside_of(w, a, b) = max(w - max(a, b), min(a, b) - w)
# Returns where place(t), f64[m], passes knots between places, f64[k], and in
# which part.
_knots_passed(place, knots, places) = {
  P = map(place, places)
  K = if _is_fixed(len(knots)) and len(knots) == 0 {
    _whole_between(min(P), max(P))
  } else {
    sort(knots)
  }
  (at, part) = (zeros(0), iota(0))
  for e in 0..shape(P)[1] {
    p = P[.., e]
    (from, to) = (min(p[..-1], p[1..]), max(p[..-1], p[1..]))
    first = searchsorted(K, from; side = "left")
    count = max(searchsorted(K, to; side = "left") - first, 0)
    i = repeat(iota(len(count)), count)
    k = first[i] + iota(len(i)) - (cumsum(count) - count)[i]
    at =
      concat(at,
        map((i, κ) -> _passing(t -> place(t)[e], κ, places[i], places[i + 1], p[i], p[i + 1]), i,
          K[k]))
    part = concat(part, i)
  }
  (at, part)
}
# Returns the integers from a to b, up to a million of them.
_whole_between(a, b) = {
  n = floor(b) - ceil(a) + 1
  ceil(a) + f64(iota(if n > 0 and n <= 1e6 { i64(n) } else { 0 }))
}
# Returns where f is κ between a and b, where its values are A and B.
_passing(f, κ, a, b, A, B) = {
  t = a + (b - a) * (κ - A) / (B - A)
  near = 1e-15 * abs(κ) + _least_place(A, B)
  (lo, hi) = (a, b)
  turns = 0
  while abs(f(t) - κ) > near and turns < 120 {
    turns = turns + 1
    if (f(t) <= κ) == (A <= κ) { lo = t } else { hi = t }
    t = 0.5 * (lo + hi)
  }
  t
}
