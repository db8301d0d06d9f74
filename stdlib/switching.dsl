# switching.dsl - where a problem switches by the clock alone, as `if t < 0.5 { 1 } else { 0 }` does.
#
# Unknowns without a rate may jump there, so an implicit integration begins anew. Which comparisons these
# are is read off the program (_clock_switches). Their zeros are looked for in 512 parts of the span.

# Functions of t for a problem. compared: f64[k], what its equations and conditions compare by the time
# alone; k may be 0. whole: what is left of all of them at one place.
_clock_of(info) = {
  still = map(i -> 0.63 * info.lo[i] + 0.37 * info.hi[i], list(...(0..len(info.coords))))
  jets = _zero_jets(info)
  place = (t, x) -> map(i -> if i == info.time { t } else { x[i] }, list(...(0..len(info.coords))))
  all = list(...info.equations, ...info.conditions)
  left = q -> (t, x, j) -> q.residual((...place(t, x),), j)
  (compared = t -> concat(zeros(0), ...map(q -> _clock_switches(left(q), t, still, jets), all)),
    whole = t -> concat(...map(q -> ravel(left(q)(t, still, jets) + 0.0), all)))
}
_switches_by_clock(info) = len(_clock_of(info).compared(info.lo[info.time])) > 0
# 0, whose derivative is refused where a switch moves with what is differentiated by.
_unmoved(f, t) = 0.0
derivative _unmoved(f, t), df, dt = _unmoved_change(_moved(df, _moves(df)[1]), t)
_unmoved_change(df, t) = {
  if len(_switches(df, t)) > 0 {
    _refuse(
      "the problem switches at a time that depends on what is differentiated by: an event has such derivatives, a comparison with t has none")
  }
  0.0
}

# The first times behind the zeros of c between t0 and t1, in order: f64[n], without a derivative. In each of
# 512 parts a comparison is taken to change its sign once at most. Backwards in time there are none.
_switch_times(c, t0, t1) = if len(c(t0)) == 0 { zeros(0) } else {
  n = 512
  (a, d) = (stop_gradient(t0 + 0.0), stop_gradient(t1 - t0))
  C = map(i -> stop_gradient(c(a + d * i / n)) <= 0, f64(iota(n + 1)))
  at = findall(ravel(C[1..] != C[..-1]))
  width = shape(C)[1]
  found = map(p -> {
    (i, k) = (p // width, p % width)
    (lo, hi) = (a + d * i / n, a + d * (i + 1) / n)
    first = C[i, k]
    for _ in 0..80 {
      middle = 0.5 * (lo + hi)
      stays = (stop_gradient(c(middle)[k]) <= 0) == first
      lo = if stays { middle } else { lo }
      hi = if stays { hi } else { middle }
    }
    hi
  }, at)
  s = sort(stop_gradient(found))
  near = 64 * 2.3e-16 * (abs(a) + abs(d))
  s = s[s > a + near and s < a + d - near]
  s[concat([true], s[1..] - s[..-1] > near)[..len(s)]]
}

# run(y, a, b, saveat) from t0 to t1, anew at each of the times s. Both give times, rows and counts. A piece
# ends a few roundings before s and sees nothing of the other side. One straight step, of `degree` rows, leads
# to the next piece.
_in_pieces(run, s, degree, y0, t0, t1, saveat) = {
  beside = stop_gradient(8 * 2.3e-16 * (abs(t0) + abs(t1)))
  begins = concat([t0], s)
  ends = concat(s - beside, [t1])
  if _asks_all(saveat) {
    (times, Y, stats) = run(y0, begins[0], ends[0], saveat)
    for k in 1..len(ends) {
      (T, V, counts) = run(Y[-1], begins[k], ends[k], saveat)
      w = (1 + iota(degree - 1)) / f64(degree)
      times = concat(times, times[-1] + w * (T[0] - times[-1]), T)
      Y = concat(Y, Y[-1] + expand(w, 1) * expand(V[0] - Y[-1], 0), V)
      stats = _joined_counts(stats, counts)
    }
    (times, Y, stats)
  } else {
    (_, Y, stats) = _piece_asked(run, y0, t0, ends[0], t1, -inf, saveat)
    y = Y[-1]
    Y = Y[..-1]
    for k in 1..len(ends) {
      (_, V, counts) = _piece_asked(run, y, begins[k], ends[k], t1, ends[k - 1], saveat)
      Y = concat(Y, V[..-1])
      y = V[-1]
      stats = _joined_counts(stats, counts)
    }
    # times at the very end
    Y = concat(Y, expand(y, 0) + zeros(sum(i64(saveat >= t1)), len(y0)))
    (saveat, reshape(Y, len(saveat), len(y0)), stats)
  }
}
# Rows at the times asked for that come behind `behind` and before b, and one at b.
_piece_asked(run, y, a, b, t1, behind, saveat) = run(y, a, b, concat(max(saveat[saveat >= behind and saveat < min(b, t1)], a), [b]))
_joined_counts(a, b) = map((x, y) -> if kind(x) == "array" { x + y } else { x }, a, b)
