# switching.dsl - where a problem switches by one coordinate alone
#
# A step in time would go over what is there for a short while, and unknowns
# without a rate may jump, so every integration begins anew. A grid sees
# nothing of what is between two of its points, which is said. Which
# comparisons these are is read off the program (_clock_switches). In space
# those of library functions do not count (_own_switches): sech(x) chooses a
# formula at 0, and jumps nowhere.

# Functions of t for a problem. compared: f64[k], what its equations and
# conditions compare by the time alone; k may be 0. watched: f64[k], what they
# make of the time alone, and at one place. whole: what is left of all of them
# at one place. lines: what they make of it at a place x, f64[coordinates];
# searched: the tables that they search on this line.
# full: what is left at such a place by three values of all derivatives, of
# which one is 0.
# bends: what of the time alone abs, max and min bend. hides: whether they
# compare it in a way that is not known (_hides_switches). firm: 0, see _firm.
_clock_of(info) =
  _with_flashes(info, false,
    _compared_along(info, info.time, list(...info.equations, ..._stated(info))))
# The conditions that are stated, and not those that take over from a solution,
# which was looked at when it was solved: a list
_stated(info) = {
  all = list()
  for c in info.conditions { if not has(c, "solved") { all = push(all, c) } }
  all
}
# The same with lines through flashes among what is watched; brief: of those
# only that are there for a while.
_with_flashes(info, brief, along) = {
  found = _flashes_of(info, brief)
  if _is_fixed(len(found.at)) and len(found.at) == 0 { along } else {
    (own, lines) = (along.watched, along.lines)
    (...along,
      watched = t -> concat(own(t), ravel(map((x, b) -> b * lines(t, x), found.at, found.brief))))
  }
}
# The same of these statements and another coordinate.
_compared_along(info, axis, all) = {
  # functions hold what they name, and a problem may hold a whole solution
  (every, three) = (each(len(info.coords)), _three_jets(info))
  still = map(i -> 0.63 * info.lo[i] + 0.37 * info.hi[i], every)
  # what moves is not in the same place at two times
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
  # in time those of the library are among what is compared
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
# The elements of several tuples as one
_joined(all) = {
  out = list()
  for part in all { for e in list(...part) { out = push(out, e) } }
  (...out,)
}
# What is left of a statement at a place by derivatives j
_left_at(q, place, j, normal) =
  if _is_on_boundary(q) { q.residual((...place,), j, normal) } else { q.residual((...place,), j) }
# Whether it is a condition on a boundary that has a name, with a normal
_is_on_boundary(q) = if kind(q.at) == "none" { false } else { _has_normal(q) }
_three_jets(info) = (_zero_jets(info), _some_jets(info, 0.4), _some_jets(info, -0.7))
# Of what has been cut at its switches already
_no_switches =
  (compared = t -> zeros(0), others = t -> zeros(0), watched = t -> zeros(0), tables = t -> (),
    firm = t -> 0.0, whole = t -> zeros(0), lines = (t, x) -> zeros(0), full = (t, x) -> zeros(0))
# What a problem compares along a coordinate of space, and what it makes of it
# alone, functions as above. beginning: only initial values.
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
# Where it switches there, or has something narrow: f64[n], upwards. tails: see
# _narrow_places.
_places_of_switches(info, axis, beginning, tails) =
  _changes_along(_switching_along(info, axis, beginning), info.lo[axis] + 0.0, info.hi[axis] + 0.0,
    tails)
# The same of functions of one place: compared and watched
_changes_along(along, a, b, tails) = {
  s = _breaks_along(along, a, b, tails)
  # a grid of this length has no nodes nearer than these
  s = if _is_fixed(len(s)) { s } else {
    apart = 64 * 2.3e-16 * (abs(a) + abs(b))
    s[_are_apart(s, apart) and s - a > apart and b - s > apart]
  }
  narrow = _narrow_places(along.watched, s, a, b, tails)
  if _is_fixed(len(narrow)) { s } else { sort(concat(s, narrow)) }
}
# 0, whose derivative is refused where a switch along a coordinate of space
# moves with what is differentiated by: what a grid makes of a problem changes
# with its coefficients, and not with where they jump.
_unmoved_in_space(info) = {
  z = 0.0
  for axis in list(...info.space) {
    along = _compared_along(info, axis, _stated_off(info, axis))
    z = z + _unmoved_place(along.whole, 0.63 * info.lo[axis] + 0.37 * info.hi[axis])
    # functions hold what they name
    (one, all, lines) = (len(info.coords) == 1, along.all, along.lines)
    for i in 0..(if one { 1 } else { 8 }) {
      place = if one { _middle_of(info) } else { _even_point(info, i) }
      z = z + _kept_knots(t -> all(t, place), t -> lines(t, place), info.lo[axis] + 0.0,
        info.hi[axis] + 0.0, false)
    }
  }
  z
}
# The equations and what is stated, but not at the ends of this coordinate
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
# An error, or with partial = true a warning, where a problem changes twice
# between two points of the grid of a solution: what is between was not seen,
# by no other grid of this kind either. Elements that end where a problem
# switches see what is in them, but for initial values, which have one at each
# node. In several coordinates of space see between_points.dsl.
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
# Whether what is between two places along an axis from lo to hi is what is
# beside them. Where a formula would fail, as sin(x)/x at 0, another one is
# often taken.
# watched: t -> f64[k]; full: see _compared_along; beside: f64[parts,
# coordinates], where the equations are looked at, 64 places at most.
_is_mended(watched, full, beside, a, b, lo, hi) = {
  mended = len(beside) > 0 and len(beside) <= 64 and _is_continued(watched, a, b, lo, hi)
  for x in beside { mended = mended and _is_continued(t -> full(t, x), a, b, lo, hi) }
  mended
}
# Whether f, f64[k] of one coordinate between lo and hi, is between a and b what
# the cubic is through four places beside these.
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
# A place in each part into which comparisons by one of the other coordinates,
# by each alone, cut the domain: f64[parts, coordinates].
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
# The points of a solution's grid along a coordinate of space, of those that are
# scattered as many as there are on average; none where they are not known.
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
# Whether its elements end where the problem switches
_is_cut(s) =
  if has(s, "mesh") { has(s.mesh, "region") and has(s.mesh.region, "cuts") } else { false }
_evenly(info, axis, count) =
  linspace(info.lo[axis] + 0.0, info.hi[axis] + 0.0, i64(max(2.0, count^(1.0 / len(info.coords)))))
# Whether a problem switches along a coordinate of space.
_switches_in_space(info) = {
  found = _hides_switches_in_space(info)
  for axis in list(...info.space) {
    c = _compared_along(info, axis, list(...info.equations, ..._stated(info))).compared
    found = found or len(c(info.lo[axis] + 0.0)) > 0
  }
  found
}
# Whether it may switch there at places that cannot be read off the program, as
# where a loop without a counter compares.
_hides_switches_in_space(info) = {
  found = false
  for axis in list(...info.space) {
    found = found or _compared_along(info, axis,
      list(...info.equations, ..._stated(info))).hides(info.lo[axis] + 0.0)
  }
  found
}
_switches_by_clock(info) = len(_clock_of(info).compared(info.lo[info.time])) > 0

# 0, whose derivative is refused where a switch moves with what is
# differentiated by.
_unmoved(f, t) = 0.0
derivative _unmoved(f, t), df, dt = _unmoved_change(_moved(df, _moves(df)[1]), t)
_unmoved_change(df, t) = {
  _refuse_hidden(df, t)
  if len(_switches(df, t)) > 0 {
    _refuse(
      "the problem switches at a time that depends on what is differentiated by: an event has "
      "such derivatives, a comparison with t has none")
  }
  0.0
}

# 0. Its derivative is an error where f(t) may jump at a time that moves with
#    what is
# differentiated by and cannot be read off f, as where a loop without a counter
# compares.
_firm(f, t) = 0.0
derivative _firm(f, t), df, dt = 0.0 * _refuse_hidden(_moved(df, _moves(df)[1]), t)

# 0, whose second derivative is refused where a bend of what depends on the time
# alone moves with what is differentiated by: steps go over it, or end at a time
# that stands.
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

# The first times behind the zeros of c between t0 and t1, from t0 on: f64[n].
# They move as the zeros do. A comparison that changes its sign once is always
# found, and one that does so twice within one of 2048 parts of the span if it
# has one extremum there, as that of abs(t - a) < w. Others that change twice in
# a part may be missed; what jumps is looked at anew behind its jumps. Time:
# 2048 values of c, some 50 for each zero and 40 for each extremum near 0.
_switch_times(c, t0, t1) = {
  (a, b) = (stop_gradient(t0 + 0.0), stop_gradient(t1 + 0.0))
  _switches_between(c, () -> a + (b - a) * f64(iota(2049)) / 2048, _least_place(a, b))
}
# What no place between a and b but 0 is as near to 0 as. A place itself says
# how near others are to it: what happens in the first second of 1e10 of them
# counts.
_least_place(a, b) = 1e-30 * (abs(a) + abs(b))
# The same between the places of a row that goes one way. Of what is not
# farther apart than some roundings of its place and `least` the first counts.
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
  # behind a jump the part is looked at anew
  (from, to) = (first.at + way * near(first.at), ends[first.part])
  open = way * (to - from) > 0
  again = _sign_changes(c, from[open], to[open], map(t -> stop_gradient(c(t)), from[open]),
    B[first.part][open])
  all = map((a, b) -> concat(a, b), first, again)
  # a jump of what is compared is the zero of something else that is
  own = map((t, jumps) -> not jumps or not any(not all.jumps and abs(all.at - t) <= near(t)),
    all.at, all.jumps)
  order = argsort(way * all.at[own])
  (at, which) = (all.at[own][order], all.which[own][order])
  apart = near(at)
  inside = way * (at - concat([-inf * way], at)[..len(at)]) > apart and way * (at - a) > apart and
    way * (b - at) > apart
  map((t, k) -> _moving_zero(s -> c(s)[k], t), at[inside], which[inside])
}
# Where one of the comparisons c(t), which are C at places, has another sign
# than at the places around. Where it is nearer to 0 at a place than it changes
# by on both sides its extremum is looked for. at: f64[n]; from, to: the places
# around, of which first and last are the numbers.
_dips(c, places, C) = {
  (n, width) = (shape(C)[0], shape(C)[1])
  (first, last) = (max(iota(n) - 1, 0), min(iota(n) + 1, n - 1))
  found = iota(0)
  # some columns at a time, since there may be very many
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
# Where a vector c(t) of comparisons, which is A at places `from` and B at
# places `to`, changes between these. at: f64[n], the first times at which one
# has changed; part: i64[n], between which places; which: i64[n]; jumps:
# bool[n], whether it is no zero of something continuous.
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
# t, moving as the zero of c that it is
_moving_zero(c, t) = if jvp(c, t, 1.0)[1] == 0 { stop_gradient(t) } else { _zero_at(c, t) }

# run(y, a, b, saveat) from t0 to t1, anew at each of the times s. Both give
# times, rows and counts. sharp: these, t0 and t1 may be where something jumps
# or bends (_is_sharp). Then a piece ends a few roundings before s, and the next
# one begins as much behind it, so that neither sees anything of the other side.
# One straight step, of `degree` rows, leads from one to the next. across(y, s,
# a, b): what a state becomes at the switch s between the times a and b
# (_across).
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
    # times at the very end
    Y = concat(Y, expand(y, 0) + zeros(sum(i64(way * (saveat - ends[-1]) >= 0)), len(y0)))
    (saveat, reshape(Y, len(saveat), len(y0)), stats)
  }
}

# y, the state of y' = f(t, y) at the switch s between the times a and b
# (_one_by_one)
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
# y, the state at s, where several things change, those that are met: f64[k] of
# 0 and 1.
# It moves as if they did so one after the other, each at its own time. Where it
# matters which is first its derivative is half of both, as max has it.
# rate(place, i): y' = rate where those have changed whose place is below i;
# time(k, f,
# t, y): when k does, where y' = f(t, y) leads on from (t, y).
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
# On which sides what is compared is when i of n have changed, for _clock_sides:
# what hangs on others of these follows them in between.
_sides_after(changes, met, place, i, n) = if i == 0 { -changes } else if i >= n { changes } else {
  met * where(place < i, 1.0, -1.0)
}
# Which elements of c change their signs between a and b, and which of these are
# zero
# there: what jumps does so where something else is zero. f64[k] both.
_turns_between(c, a, b) = {
  far = 1000 * (b - a)
  (A, B) = (c(a), c(b))
  changes = (A <= 0) != (B <= 0)
  (f64(changes), f64(changes and abs(A) + abs(B) <= 0.1 * (abs(c(a - far)) + abs(c(b + far)))))
}
# f as it is before or behind all that changes at the switch at[0] between the
# times at[1] and at[2], or as it is: side -1, 1 or 0
_on_side(f, side, y, at) = {
  (s, a, b) = (at[0], at[1], at[2])
  changes = _primal(() -> _turns_between(t -> _clock_turns(f, t, y), a, b))[0]
  # farther than events are looked at aside of
  beside = stop_gradient(stack(a, b) - s) +
    4e-14 * abs(stop_gradient(s)) * sign(b - a) * [-1.0, 1.0]
  (t, u) -> _clock_sides(f, side * changes, t + beside[0], t + beside[1], t, u)
}
# How far from t0, from the switches s on the way and from t1 pieces end and
# begin: f64[len(s) + 2]. Some roundings of what is compared, which may be as
# large as t0 or t1; but no more than 1e-10 of the way to the next of them, if
# that is more than some roundings of the place. 0 where nothing is sharp.
_gaps(t0, s, t1, sharp) = if not sharp { zeros(len(s) + 2) } else {
  all = stop_gradient(concat(expand(t0, 0), s, expand(t1, 0)))
  apart = abs(all[1..] - all[..-1])
  near = min(concat([inf], apart), concat(apart, [inf]))
  some = 8 * 2.3e-16
  min(max(some * abs(all), min(some * (abs(all[0]) + abs(all[-1])), 1e-10 * near)), 0.25 * near)
}
# Rows at the times asked for that come behind `behind` and before b, and one
# at b.
_piece_asked(run, y, a, b, behind, way, saveat) = {
  here = saveat[way * saveat >= behind and way * (saveat - b) < 0]
  run(y, a, b, concat(way * max(way * here, way * a), expand(b, 0)))
}
_joined_counts(a, b) = map((x, y) -> if kind(x) == "array" { x + y } else { x }, a, b)
