# switching.dsl - detection of switches, comparisons of a problem that depend on
# one coordinate alone.
#
# A time step could pass over a short switch, and unknowns without a time
# derivative may jump, so every integration restarts at switches. A grid
# resolves nothing between two of its points, which is reported.
#
# Method: dataflow analysis of the program finds these comparisons
# (_clock_switches). In space, comparisons inside library functions do not count
# (_own_switches): sech(x) chooses a formula at 0, but does not jump there.

# Returns functions of t for a problem:
# - compared: f64[k], the values that equations and conditions compare by the
#   time alone; k may be 0
# - others: the same inside library functions (in space)
# - bends: the arguments of abs, max and min that depend on the time alone
# - watched: f64[k], values that depend on the time alone, and values at one
#   place
# - tables: tables that are searched by the time alone
# - hides: whether comparisons may be unknown (_hides_switches)
# - firm: 0, see _firm
# - whole, all: the residuals at one place, and at a place x
# - lines: values along t at a place x, f64[coordinates]; searched: the tables
#   searched on this line
# - full: the residuals at such a place for three values of all derivatives, one
#   of which is 0
_clock_of(info) =
  _with_flashes(info, false,
    _compared_along(info, info.time, list(...info.equations, ..._stated(info))))
# Returns the list of declared conditions. It excludes those that continue a
# solution, which was checked when it was computed.
_stated(info) = {
  all = list()
  for c in info.conditions { if not has(c, "solved") { all = push(all, c) } }
  all
}
# Adds lines through flashes to the watched values; brief: only short flashes.
_with_flashes(info, brief, along) = {
  found = _flashes_of(info, brief)
  if _is_fixed(len(found.at)) and len(found.at) == 0 { along } else {
    (own, lines) = (along.watched, along.lines)
    (...along,
      watched = t -> concat(own(t), ravel(map((x, b) -> b * lines(t, x), found.at, found.brief))))
  }
}
# Returns the same for these equations and conditions, and another coordinate.
_compared_along(info, axis, all) = {
  # Closures capture what they name, and a problem may hold a whole solution.
  (every, three) = (each(len(info.coords)), _three_jets(info))
  still = map(i -> 0.63 * info.lo[i] + 0.37 * info.hi[i], every)
  # A moving feature is at different places at two times.
  late = map(i -> if i == info.time { 0.11 * info.lo[i] + 0.89 * info.hi[i] } else { still[i] },
    every)
  jets = three[0]
  place = (t, x) -> map(i -> if i == axis { t } else { x[i] }, every)
  normal = (...map(i -> 0.6, list(...info.space)),)
  left = q -> (t, x, j) -> _left_at(q, place(t, x), j, normal)
  by_time = axis == info.time or info.time < 0
  slices = q -> if by_time { t -> _watched(s -> left(q)(s, still, jets), t) } else {
    t -> {
      (u, v) = (_watched(s -> left(q)(s, still, jets), t), _watched(s -> left(q)(s, late, jets), t))
      where(abs(u) < abs(v), u, v)
    }
  }
  compared = if axis == info.time { q -> t -> _clock_switches(left(q), t, still, jets) } else {
    q -> x -> _own_switches(left(q), x, still, jets)
  }
  # In time, comparisons inside the library are included in `compared`.
  others = if axis == info.time { t -> zeros(0) } else {
    x -> concat(zeros(0), ...map(q -> _library_switches(left(q), x, still, jets), all))
  }
  bends = if axis != info.time { t -> zeros(0) } else {
    t -> concat(zeros(0), ...map(q -> _clock_bends(left(q), t, still, jets), all))
  }
  whole = t -> concat(...map(q -> ravel(left(q)(t, still, jets) + 0.0), all))
  hides = t -> {
    found = false
    for q in all { found = found or _hides_switches(left(q), t, still, jets) }
    found
  }
  (compared = t -> concat(zeros(0), ...map(q -> compared(q)(t), all)), others = others,
    bends = bends,
    watched = t -> concat(zeros(0), ...map(q -> _watched(left(q), t, still, jets), all),
      ...map(q -> slices(q)(t), all)),
    tables = t -> _joined(map(q -> _clock_tables(left(q), t, still, jets), all)),
    hides = hides, firm = t -> if hides(t) { _firm(whole, t) } else { 0.0 }, whole = whole,
    all = (t, x) -> concat(...map(q -> ravel(left(q)(t, x, jets) + 0.0), all)),
    lines = (t, x) -> concat(zeros(0), ...map(q -> _watched(s -> left(q)(s, x, jets), t), all)),
    searched = (t, x) -> _joined(map(q -> _clock_tables(s -> left(q)(s, x, jets), t), all)),
    full = (t, x) ->
    concat(...map(js -> concat(...map(q -> ravel(left(q)(t, x, js) + 0.0), all)), three)))
}
_joined(all) = {
  out = list()
  for part in all { for e in list(...part) { out = push(out, e) } }
  (...out,)
}
# Returns the residual of an equation or condition at a place for derivatives j.
_left_at(q, place, j, normal) =
  if _is_on_boundary(q) { q.residual((...place,), j, normal) } else { q.residual((...place,), j) }
# Whether it is a condition on a named boundary, with a normal.
_is_on_boundary(q) = if kind(q.at) == "none" { false } else { _has_normal(q) }
_three_jets(info) = (_zero_jets(info), _some_jets(info, 0.4), _some_jets(info, -0.7))
# For problems already split at their switches.
_no_switches =
  (compared = t -> zeros(0), others = t -> zeros(0), watched = t -> zeros(0), tables = t -> (),
    firm = t -> 0.0, whole = t -> zeros(0), lines = (t, x) -> zeros(0), full = (t, x) -> zeros(0))
# Returns the comparisons of a problem along a space coordinate, and the values
# that depend on it alone, as functions as above. beginning: initial values
# only.
_switching_along(info, axis, beginning) = {
  all = if beginning { list() } else { list(...info.equations) }
  for c in _stated(info) {
    if c.at.coord == info.time or (c.at.coord != axis and not beginning) { all = push(all, c) }
  }
  if len(all) == 0 {
    _no_switches
  } else if axis == info.time {
    _compared_along(info, axis, all)
  } else {
    _with_flashes(info, true, _compared_along(info, axis, all))
  }
}
# Returns where a problem switches along a coordinate or has narrow features:
# f64[n], ascending. tails: see _narrow_places.
_places_of_switches(info, axis, beginning, tails) =
  _changes_along(_switching_along(info, axis, beginning), info.lo[axis] + 0.0, info.hi[axis] + 0.0,
    tails)
# Returns the same for functions of one place: compared and watched.
_changes_along(along, a, b, tails) = {
  s = _breaks_along(along, a, b, tails)
  # Nodes of a grid of this length are never closer than this.
  s = if _is_fixed(len(s)) { s } else {
    apart = 64 * 2.3e-16 * (abs(a) + abs(b))
    s[_are_apart(s, apart) and s - a > apart and b - s > apart]
  }
  narrow = _narrow_places(along.watched, s, a, b, tails)
  if _is_fixed(len(narrow)) { s } else { sort(concat(s, narrow)) }
}
# Returns 0, whose derivative is an error where a switch along a space
# coordinate moves with the differentiated parameter. The discretisation
# responds to coefficients, but not to the positions of their jumps.
_unmoved_in_space(info) = {
  z = 0.0
  for axis in list(...info.space) {
    along = _compared_along(info, axis, _stated_off(info, axis))
    z = z + _unmoved_place(along.whole, 0.63 * info.lo[axis] + 0.37 * info.hi[axis])
    # Closures capture what they name.
    (one, all, lines) = (len(info.coords) == 1, along.all, along.lines)
    for i in 0..(if one { 1 } else { 8 }) {
      place = if one { _middle_of(info) } else { _even_point(info, i) }
      z = z + _kept_knots(t -> all(t, place), t -> lines(t, place), info.lo[axis] + 0.0,
        info.hi[axis] + 0.0, false)
    }
  }
  z
}
# Returns the equations and declared conditions, except those at the ends of
# this coordinate.
_stated_off(info, axis) = {
  all = list(...info.equations)
  for c in _stated(info) { if c.at.coord != axis { all = push(all, c) } }
  all
}
_unmoved_place(f, x) = 0.0
derivative _unmoved_place(f, x), df, dx = _unmoved_place_change(_moved(df, _moves(df)[1]), x)
_unmoved_place_change(df, x) = {
  if _moving_switches(df, x) > 0 {
    _refuse(
      "the problem jumps at a place that depends on what is differentiated by, and its solutions "
      "on a grid have no such derivative; a smooth step has, as 0.5 + 0.5*tanh((x - s)/w)")
  }
  0.0
}
# Fails, or with partial = true warns, where a problem changes twice between two
# grid points: no grid of this kind has resolved the part between. Elements that
# end at switches resolve it, except for initial values, which have one value at
# each node. For several space coordinates see also between_points.dsl.
_check_seen(info, m, o, s) = if kind(s) == "record" and len(info.space) > 0 {
  axes = map(k -> _nodes_along(info, m, s, k), each(len(info.space)))
  cut = _is_cut(s)
  known = true
  for (k, axis) in enumerate(list(...info.space)) {
    nodes = axes[k]
    if _is_fixed(len(nodes)) and len(nodes) == 0 { known = false } else {
      along = _switching_along(info, axis, cut)
      (lo, hi) = (info.lo[axis] + 0.0, info.hi[axis] + 0.0)
      looked = (compared = along.compared, others = along.others, watched = along.watched,
        tables = along.tables)
      at = _primal(() -> _changes_along(looked, lo, hi, false))
      if not _is_fixed(len(at)) {
        near = 1e-9 * (hi - lo)
        for i in 1..len(at) {
          if not any(nodes > at[i - 1] + near and nodes < at[i] - near) {
            beside = if at[i] - at[i - 1] <= 0.01 * (hi - lo) {
              _primal(() -> _parts_beside(info, axis))
            } else {
              zeros(0, len(info.coords))
            }
            (watched, full, a, b) = (along.watched, along.full, at[i - 1], at[i])
            if not _primal(() -> _is_mended(watched, full, beside, a, b, lo, hi)) {
              said =
                ("{info.name} changes at {info.coords[axis]} = {at[i - 1]:.9g} and again at "
                  "{at[i]:.9g}, and no point of {m.name}() is between these, so that it sees "
                  "nothing of what is there: {_better(m)}{if m.name == "fem" { "" } else {
                ", and the elements of fem() end where a problem changes"
              }}")
              if o.partial {
                _warning(said)
              } else {
                error("{said}. partial = true gives the solution all the same")
              }
            }
          }
        }
      }
    }
  }
  if known { _check_spots(info, m, o, s, axes) }
}
# Whether the values between two places along an axis from lo to hi continue
# those on both sides. A formula that would fail, such as sin(x)/x at 0, is
# often replaced by another there. watched: t -> f64[k]; full: see
# _compared_along; beside: f64[parts, coordinates], at most 64 places at which
# the equations are evaluated.
_is_mended(watched, full, beside, a, b, lo, hi) = {
  mended = len(beside) > 0 and len(beside) <= 64 and _is_continued(watched, a, b, lo, hi)
  for x in beside { mended = mended and _is_continued(t -> full(t, x), a, b, lo, hi) }
  mended
}
# Whether f, f64[k] of one coordinate between lo and hi, equals between a and b
# the cubic through four places outside.
_is_continued(f, a, b, lo, hi) = {
  h = max(b - a, 1e-9 * (hi - lo))
  outer = if a - 2 * h < lo {
    b + h * [0.5, 1, 1.5, 2]
  } else if b + 2 * h > hi {
    a - h * [0.5, 1, 1.5, 2]
  } else {
    stack(a - 2 * h, a - h, b + h, b + 2 * h)
  }
  inner = a + (b - a) * [0.07, 0.31, 0.5, 0.72, 0.94]
  (V, W) = (map(f, outer), map(f, inner))
  same = true
  for k in 0..shape(V)[1] {
    P = barycentric(outer, V[.., k])(inner)
    same = same and
      all(abs(W[.., k] - P) <= 1e-5 * max(abs(V[.., k])) or (W[.., k] != W[.., k] and P != P))
  }
  same
}
# Returns a place in each of the parts into which comparisons by one other
# coordinate alone divide the domain: f64[parts, coordinates].
_parts_beside(info, axis) = {
  X = expand(_middle_of(info), 0)
  for i in each(len(info.coords)) {
    if i != axis and len(X) <= 64 {
      along = if i == info.time { _clock_of(info) } else { _switching_along(info, i, false) }
      s = _changes_along(along, info.lo[i] + 0.0, info.hi[i] + 0.0, false)
      ends = concat(expand(info.lo[i] + 0.0, 0), s, expand(info.hi[i] + 0.0, 0))
      n = len(ends) - 1
      Y = zeros(n * len(X), len(info.coords))
      for k in 0..len(Y) {
        Y[k] = X[k // n]
        Y[k, i] = 0.63 * ends[k % n] + 0.37 * ends[k % n + 1]
      }
      X = Y
    }
  }
  X
}
# Returns the points of a solution's grid along a space coordinate. For
# scattered points it is the average number, evenly spaced; empty where unknown.
_nodes_along(info, m, s, k) = {
  axis = info.space[k]
  if has(s, "mesh") {
    s.mesh.points[.., k]
  } else if has(s, "grid") {
    s.grid[k]
  } else if m.name == "fv" {
    if len(info.space) == 1 { s.x } else { s.x[k] }
  } else if has(s, "features") {
    _evenly(info, axis, m.rows * s.stats.features)
  } else if m.name == "pinn" {
    _evenly(info, axis, m.points)
  } else {
    zeros(0)
  }
}
# Whether the solution's elements end where the problem switches.
_is_cut(s) =
  if has(s, "mesh") { has(s.mesh, "region") and has(s.mesh.region, "cuts") } else { false }
_evenly(info, axis, count) =
  linspace(info.lo[axis] + 0.0, info.hi[axis] + 0.0, i64(max(2.0, count^(1.0 / len(info.coords)))))
# Whether a problem switches along a space coordinate.
_switches_in_space(info) = {
  found = _hides_switches_in_space(info)
  for axis in list(...info.space) {
    c = _compared_along(info, axis, list(...info.equations, ..._stated(info))).compared
    found = found or len(c(info.lo[axis] + 0.0)) > 0
  }
  found
}
# Whether it may switch there at places that the analysis cannot find, such as
# comparisons in a loop without a counter.
_hides_switches_in_space(info) = {
  found = false
  for axis in list(...info.space) {
    found = found or _compared_along(info, axis,
      list(...info.equations, ..._stated(info))).hides(info.lo[axis] + 0.0)
  }
  found
}
_switches_by_clock(info) = len(_clock_of(info).compared(info.lo[info.time])) > 0

# Returns 0, whose derivative is an error where a switch moves with the
# differentiated parameter.
_unmoved(f, t) = 0.0
derivative _unmoved(f, t), df, dt = _unmoved_change(_moved(df, _moves(df)[1]), t)
_unmoved_change(df, t) = {
  _refuse_hidden(df, t)
  if len(_switches(df, t)) > 0 {
    _refuse(
      "the problem switches at a time that depends on what is differentiated by: an event has such "
      "derivatives, a comparison with t has none")
  }
  0.0
}

# Returns 0. Its derivative is an error where f(t) may jump at a time that the
# analysis cannot find (in a loop without a counter), if that time moves with
# the differentiated parameter.
_firm(f, t) = 0.0
derivative _firm(f, t), df, dt = 0.0 * _refuse_hidden(_moved(df, _moves(df)[1]), t)

# Returns 0, whose second derivative is an error where a kink that depends on
# the time alone moves with the differentiated parameter: steps pass over it, or
# end at a fixed time.
_unbent(clock, t) = {
  c = clock.bends(t)
  if _is_fixed(len(c)) and len(c) == 0 { 0.0 } else { _kept_straight(c) }
}
_kept_straight(c) = 0.0
derivative _kept_straight(c), dc = sum(_kept_slope(c) * dc)
_kept_slope(c) = 0.0 * c
derivative _kept_slope(c), dc = _refuse(
  "something bends at a time that depends on what is differentiated by, as abs, max and min do: "
  "elements and equations without a rate have no second derivative by it; fd(), chebyshev() and "
  "fourier() of fields with rates have")

# Returns the first times after the zeros of c between t0 and t1, in the order
# from t0: f64[n]. Their derivatives are those of the zeros. A single sign
# change is always found. Two within one of 2048 parts of the span are found if
# there is one extremum between them, as for abs(t - a) < w; others may be
# missed. After a jump, the rest of the part is searched again. Cost: 2048
# values of c, about 50 for each zero and 40 for each extremum near 0.
_switch_times(c, t0, t1) = {
  (a, b) = (stop_gradient(t0 + 0.0), stop_gradient(t1 + 0.0))
  _switches_between(c, () -> a + (b - a) * f64(iota(2049)) / 2048, _least_place(a, b))
}
# Returns the resolution of places near 0 between a and b. Elsewhere the
# resolution is relative to the place, so that the first second of 1e10 is
# resolved.
_least_place(a, b) = 1e-30 * (abs(a) + abs(b))
# Returns the same between the places of a monotone row. Of places closer than a
# few roundings and `least`, only the first counts.
_switches_between(c, row, least) = if len(c(row()[0])) == 0 { zeros(0) } else {
  places = row()
  (a, b) = (places[0], places[-1])
  way = if b < a { -1.0 } else { 1.0 }
  near = t -> 64 * 2.3e-16 * abs(t) + least
  C = map(t -> stop_gradient(c(t)), places)
  dips = _dips(c, places, C)
  (starts, ends) = (concat(places[..-1], dips.from, dips.at), concat(places[1..], dips.at, dips.to))
  within = map(t -> stop_gradient(c(t)), dips.at)
  (A, B) =
    (concat(C[..-1], C[dips.first], within; axis = 0),
      concat(C[1..], within, C[dips.last]; axis = 0))
  first = _sign_changes(c, starts, ends, A, B)
  # After a jump the remainder of the part is searched again.
  (from, to) = (first.at + way * near(first.at), ends[first.part])
  open = way * (to - from) > 0
  again = _sign_changes(c, from[open], to[open], map(t -> stop_gradient(c(t)), from[open]),
    B[first.part][open])
  all = map((a, b) -> concat(a, b), first, again)
  # Drops a jump of a compared value that coincides with a zero of another.
  own = map((t, jumps) -> not jumps or not any(not all.jumps and abs(all.at - t) <= near(t)),
    all.at, all.jumps)
  order = argsort(way * all.at[own])
  (at, which) = (all.at[own][order], all.which[own][order])
  apart = near(at)
  inside = way * (at - concat([-inf * way], at)[..len(at)]) > apart and way * (at - a) > apart and
    way * (b - at) > apart
  map((t, k) -> _moving_zero(s -> c(s)[k], t), at[inside], which[inside])
}
# Returns the places where one of the comparisons c(t), with values C at places,
# has another sign than at the places around. It searches for an extremum where
# a value is smaller than its change on both sides. at: f64[n]; from, to: the
# places around, with the indices first and last.
_dips(c, places, C) = {
  (n, width) = (shape(C)[0], shape(C)[1])
  (first, last) = (max(iota(n) - 1, 0), min(iota(n) + 1, n - 1))
  found = iota(0)
  # A block of columns at a time, since there may be very many.
  for start in 0..(width + 255) // 256 {
    B = C[.., 256 * start..min(256 * start + 256, width)]
    (before, behind, D) = (B[first], B[last], abs(B))
    even = (before <= 0) == (B <= 0) and (behind <= 0) == (B <= 0)
    least = D <= abs(before) and D <= abs(behind) and D < abs(before - B) + abs(behind - B)
    at = findall(ravel(even and least))
    found = concat(found, at // shape(B)[1] * width + 256 * start + at % shape(B)[1])
  }
  (i, which) = (found // width, found % width)
  at = map((i, k) -> {
    side = C[i, k] <= 0
    _below(t -> { v = stop_gradient(c(t)[k]); if (v <= 0) == side { abs(v) } else { -abs(v) } },
      places[first[i]], places[last[i]], 0.0)
  }, i, which)
  known = at == at
  i = i[known]
  (at = at[known], from = places[first[i]], to = places[last[i]], first = first[i], last = last[i])
}
# Returns where a vector c(t) of comparisons, A at places `from` and B at places
# `to`, changes sign between these. at: f64[n], the first times after the
# changes; part: i64[n], between which places; which: i64[n], the elements;
# jumps: bool[n], whether it is a jump and not a zero.
_sign_changes(c, from, to, A, B) = {
  width = shape(A)[1]
  found = findall(ravel((A <= 0) != (B <= 0)))
  (part, which) = (found // width, found % width)
  at = map((i, k) -> {
    (lo, hi) = (from[i], to[i])
    first = A[i, k] <= 0
    turns = 0
    while abs(hi - lo) > 1.2e-16 * abs(hi) and turns < 150 {
      turns = turns + 1
      middle = 0.5 * (lo + hi)
      stays = (stop_gradient(c(middle)[k]) <= 0) == first
      lo = if stays { middle } else { lo }
      hi = if stays { hi } else { middle }
    }
    hi
  }, part, which)
  jumps = map((t, i, k) -> abs(stop_gradient(c(t)[k])) > 1e-9 * (abs(A[i, k]) + abs(B[i, k])), at,
    part, which)
  (at = at, part = part, which = which, jumps = jumps)
}
# Returns t with the derivative of the zero of c that it is.
_moving_zero(c, t) = if jvp(c, t, 1.0)[1] == 0 { stop_gradient(t) } else { _zero_at(c, t) }

# Runs run(y, a, b, saveat) from t0 to t1 with a restart at each of the times s.
# Both return times, rows and counts. sharp: a problem may jump or have a kink
# at these times, t0 and t1 (_is_sharp). Then a piece ends a few roundings
# before s and the next begins as much after it, so that neither evaluates the
# other side. One straight step of `degree` rows connects them. across(y, s, a,
# b): the state after the switch s between the times a and b (_across).
_in_pieces(run, across, s, sharp, degree, y0, t0, t1, saveat) = {
  way = if stop_gradient(t1 - t0) < 0 { -1.0 } else { 1.0 }
  gap = way * _gaps(t0, s, t1, sharp)
  begins = concat(expand(t0, 0), s) + gap[..-1]
  ends = concat(s, expand(t1, 0)) - gap[1..]
  if _asks_all(saveat) {
    (times, Y, stats) = run(y0, begins[0], ends[0], saveat)
    for k in 1..len(ends) {
      (T, V, counts) =
        run(across(Y[-1], s[k - 1], ends[k - 1], begins[k]), begins[k], ends[k], saveat)
      w = (1 + iota(degree - 1)) / f64(degree)
      times = concat(times, times[-1] + w * (T[0] - times[-1]), T)
      Y = concat(Y, Y[-1] + expand(w, 1) * expand(V[0] - Y[-1], 0), V)
      stats = _joined_counts(stats, counts)
    }
    times[0] = t0
    times[-1] = t1
    (times, Y, stats)
  } else {
    asked = (y, k) -> _piece_asked(run, y, begins[k], ends[k],
      if k == 0 { -inf } else { way * ends[max(k - 1, 0)] }, way, saveat)
    (_, Y, stats) = asked(y0, 0)
    y = Y[-1]
    Y = Y[..-1]
    for k in 1..len(ends) {
      (_, V, counts) = asked(across(y, s[k - 1], ends[k - 1], begins[k]), k)
      Y = concat(Y, V[..-1])
      y = V[-1]
      stats = _joined_counts(stats, counts)
    }
    # Times at the very end.
    Y = concat(Y, expand(y, 0) + zeros(sum(i64(way * (saveat - ends[-1]) >= 0)), len(y0)))
    (saveat, reshape(Y, len(saveat), len(y0)), stats)
  }
}

# Returns y, the state of y' = f(t, y) after the switch s between the times a
# and b (_one_by_one).
_across(f, y, s, a, b) = {
  c = t -> _clock_turns(f, t, stop_gradient(y))
  if _is_fixed(len(c(s))) and len(c(s)) < 2 { y } else {
    (changes, met) = _primal(() -> _turns_between(c, a, b))
    if sum(met) < 2 { y } else {
      beside = stop_gradient(stack(a, b) - s)
      _one_by_one((place, i) -> {
        sides = _sides_after(changes, met, place, i, sum(met))
        (t, u) -> _clock_sides(f, sides, t + beside[0], t + beside[1], t, u)
      }, (k, f, t, y) -> _moving_zero(u -> c(u)[k], stop_gradient(s)), y, s, met)
    }
  }
}
# Returns y, the state at s, where several switches coincide: met, f64[k] of 0
# and 1. Its derivative is as if they happened one after the other, each at its
# own time. Where the order matters, it is the mean of both orders, as for max.
# rate(place, i): y' = rate after the switches whose place is below i; time(k,
# f, t, y): the time of switch k, where y' = f(t, y) continues from (t, y).
_one_by_one(rate, time, y, s, met) = {
  n = i64(sum(met))
  in_order = place -> {
    (t, z) = (s, y)
    for i in 0..n + 1 {
      f = rate(place, i)
      at = if i == n { s } else { time(argmax(met * f64(place == i)), f, t, z) }
      z = _flow(f, t, z, at)
      t = at
    }
    z
  }
  place = i64(cumsum(met)) - 1
  _value_of(() -> 0.5 * (in_order(place) + in_order(n - 1 - place)), y)
}
# Returns the sides of the comparisons after i of n switches, for _clock_sides.
# Comparisons that depend on others follow them.
_sides_after(changes, met, place, i, n) = if i == 0 { -changes } else if i >= n { changes } else {
  met * where(place < i, 1.0, -1.0)
}
# Returns two f64[k]: which elements of c change sign between a and b, and which
# of these are zero there. A jump coincides with the zero of another.
_turns_between(c, a, b) = {
  far = 1000 * (b - a)
  (A, B) = (c(a), c(b))
  changes = (A <= 0) != (B <= 0)
  (f64(changes), f64(changes and abs(A) + abs(B) <= 0.1 * (abs(c(a - far)) + abs(c(b + far)))))
}
# Returns f on one side of all switches at the time at[0], between the times
# at[1] and at[2]: side -1 before, 1 after, 0 unchanged.
_on_side(f, side, y, at) = {
  (s, a, b) = (at[0], at[1], at[2])
  changes = _primal(() -> _turns_between(t -> _clock_turns(f, t, y), a, b))[0]
  # Farther than the offset at which events are evaluated.
  beside = stop_gradient(stack(a, b) - s) +
    4e-14 * abs(stop_gradient(s)) * sign(b - a) * [-1.0, 1.0]
  (t, u) -> _clock_sides(f, side * changes, t + beside[0], t + beside[1], t, u)
}
# Returns the distances from t0, from the switches s and from t1 at which pieces
# end and begin: f64[len(s) + 2]. They are a few roundings of the compared
# values, which may be as large as t0 or t1. They are at most 1e-10 of the
# distance to the next switch, unless this is below a few roundings of the
# place. 0 where nothing is sharp.
_gaps(t0, s, t1, sharp) = if not sharp { zeros(len(s) + 2) } else {
  all = stop_gradient(concat(expand(t0, 0), s, expand(t1, 0)))
  apart = abs(all[1..] - all[..-1])
  near = min(concat([inf], apart), concat(apart, [inf]))
  some = 8 * 2.3e-16
  min(max(some * abs(all), min(some * (abs(all[0]) + abs(all[-1])), 1e-10 * near)), 0.25 * near)
}
# Runs a piece and returns rows at the times of saveat from `behind` to before
# b, and one at b.
_piece_asked(run, y, a, b, behind, way, saveat) = {
  here = saveat[way * saveat >= behind and way * (saveat - b) < 0]
  run(y, a, b, concat(way * max(way * here, way * a), expand(b, 0)))
}
_joined_counts(a, b) = map((x, y) -> if kind(x) == "array" { x + y } else { x }, a, b)
