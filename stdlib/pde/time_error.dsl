# time_error.dsl - how far the solution of a problem in t is off: what solve
# gives as error without being asked, and what it says where that is large.
#
# The errors of single steps, which tolerances bound, say little about the end:
# a stiff reaction of eight substances is 40 times further off there than they
# are. So the problem is solved a second time, to a tenth of the tolerances or
# in half the steps, which costs about as much again (half as much more at low
# orders), and the difference is the error of the first solution, all of it but
# for the tenth or so that the second has. No order is trusted for that: were
# the second one off by half as much, the estimate would be 1.6 times too small.

# The error of the solution s, relative: that of the state in the mean square
# over the interval, or that at the end, if it is larger; there relative to the
# state in the last thousandth of the interval, since it may pass through zero
# just at the end. again(m, o, at): the states at these times of a second
# solution. own: where a state has the fields themselves; their derivatives may
# be off by more, as where fields jump a little too late. error, gap, sure,
# inside, fields: gap is what the state at the end is off by; sure is an error
# of the fields that takes the state in the last three steps instead, so that it
# is large only where nothing is right; inside is the part from the interval;
# fields is the error of the fields alone. nan: the second solution failed.
_error_in_time(m, o, s, state, jumps, own, again) = {
  (error, gap, sure, inside, fields) =
    _primal(() -> _error_found(m, o, s, state, jumps, own, again))
  (error = error, gap = gap, sure = sure, inside = inside, fields = fields)
}
_error_found(m, o, s, state, jumps, own, again) = {
  count = len(s.times)
  t1 = s.times[-1]
  t0 = if _asks_all(o.saveat) { s.times[0] } else { f64(o.t[0]) }
  few = min(count, 64)
  # half-way between rows, where the method's polynomial is what there is, each
  # for the length of its own step, so that short steps at a jump stand for no
  # more than they are; or wanted times; of a solution that jumps places that
  # are no multiples of anything, so that its events, which both solutions have
  # at slightly different times, are not among them; and the end
  times = if jumps { concat(t0 + (t1 - t0) * (iota(63) + 0.381966) / 63, expand(t1, 0)) } else {
    if _asks_all(o.saveat) {
      pick = _few_rows(count, shape(s.values)[1])
      concat(0.5 * (s.times[pick] + s.times[min(pick + 1, count - 1)]), expand(t1, 0))
    } else { s.times[(iota(few) * (count - 1)) // max(1, few - 1)] }
  }
  Y = map(state, times)
  if t0 == t1 { (0.0, 0.0, 0.0, 0.0, 0.0) } else {
    way = if t1 < t0 { -1.0 } else { 1.0 }
    late = t1 - (t1 - t0) * concat([1e-3], (1.0 + iota(3)) / max(3, s.stats.steps))
    grid = way * sort(way * concat(times, late))
    (finer, by) = _finer(m, o, t0, t1)
    # of a state that is far below atol the steps say nothing: the second
    # solution measures by the state itself
    atol = min(f64(o.atol), o.rtol * max(abs(s.values)) + 1e-300)
    r = try { again(finer, (...o, rtol = by * o.rtol, atol = by * atol), grid) } catch e {
      expand(nan * Y[0], 0) + 0.0 * expand(grid, 1)
    }
    R = r[searchsorted(way * grid, way * times; side = "left")]
    dt = concat(abs(times[1..] - times[..-1]), zeros(1))
    # of the rows that times lie between
    weights = if not jumps and _asks_all(o.saveat) {
      pick = _few_rows(count, shape(s.values)[1])
      concat(abs(s.times[min(pick + 1, count - 1)] - s.times[pick]), zeros(1))
    } else { dt + concat(zeros(1), dt[..-1]) }
    # what the second solution is still off by: half as much as the first, of a
    # method of order one in half the steps, less to a tenth of the tolerances
    all = if has(m, "finer") { 2.0 } else { 1.25 }
    of = (Y, R, r) -> {
      (gaps, sizes) = (norm(Y - R; axis = 1), norm(R; axis = 1))
      mean_square = sqrt(sum(weights * gaps^2) / max(1e-300, sum(weights * sizes^2)))
      since = t -> max(max(where(way * (grid - t) >= 0, norm(r; axis = 1), 0.0)), 1e-300)
      (all * max(mean_square, gaps[-1] / since(late[0])), gaps[-1],
        all * max(mean_square, gaps[-1] / since(late[3])), all * mean_square)
    }
    (error, gap, sure, inside) = of(Y, R, r)
    (fields, _, surely, _) =
      if len(own) == shape(r)[1] or len(own) == 0 { (error, gap, sure, inside) } else {
        of(Y[.., own], R[.., own], r[.., own])
      }
    (error, gap, surely, inside, fields)
  }
}
# Some of this many rows of n numbers, evenly: few of large states, and many
# where a few may be what matters, as at jumps
_few_rows(count, n) = {
  few = min(count, if n > 1000 { 64 } else { 256 })
  (iota(few) * max(0, count - 2)) // max(1, few - 1)
}
_finer(m, o, t0, t1) = {
  by = if o.rtol >= 2e-12 { 0.1 } else { 10.0 }
  if has(m, "finer") { m = m.finer(m) }
  # what steps so long that they see nothing of a problem for a while leave out
  if has(m, "max_step") and not has(m, "finer") {
    ((...m, max_step = min(f64(m.max_step), abs(t1 - t0) / 20)), by)
  } else {
    (m, by)
  }
}

# Whether a solution with this error is given: above 30 % only on request, above
# 1 %, or what was asked where that is more, with a warning. What is off by no
# more than atol allows has become smaller than was asked about, which is said.
_judged_in_time(info, s, e, o) = {
  complete = if has(s, "complete") { s.complete } else { true }
  if not (e.error >= 0) {
    _warning(
      "the error of the solution of {info.name} is not known: a second one to other tolerances "
      "did not get to the end")
  }
  if complete and e.error > max(0.01, o.rtol) {
    small = e.inside <= 0.01 and e.gap <= 100 * norm(o.atol + 0.0 * s.values[-1])
    if small {
      _warning(
        "the solution of {info.name} is so small at the end that atol leaves it off by "
        "{e.error:.1e} of itself, {e.gap:.1e}: a lower atol has more of it")
    } else {
      if e.sure > max(0.3, o.rtol) and not o.partial {
        error(
          "the solution of {info.name} is off by {e.error:.1e} of itself, as a second one to "
          "other tolerances says: rtol and atol are too coarse for it, or it depends on its "
          "beginning more than these numbers can hold; partial = true gives it all the same, "
          "estimate = false unseen")
      } else {
        if e.fields <= max(0.01, o.rtol) {
          _warning(
            "the solution of {info.name} is off by {e.fields:.1e} of itself, but with its "
            "derivatives by {e.error:.1e}, as a second one to other tolerances says: a lower rtol "
            "or atol, or shorter steps, make them better")
        } else {
          _warning(
            "the solution of {info.name} is off by {e.error:.1e} of itself, as a second one to "
            "other tolerances says: a lower rtol or atol, or shorter steps, make it better")
        }
      }
    }
  }
  (...s, error = e.error)
}
