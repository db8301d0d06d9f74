# time_error.dsl - error estimates for problems in t alone, and the warnings and
# errors that follow from them.
#
# Method: local errors, which tolerances bound, say little about the global
# error. The problem is solved a second time, to a tenth of the tolerances or in
# half the steps, and the difference estimates the error of the first solution.
# No order of convergence is assumed. The estimate misses the error of the
# second solution, usually a tenth of the first.

# Returns the relative error of the solution s: the root mean square over the
# interval or, where larger, the error at the end. The latter is relative to the
# state in the last thousandth of the interval, since the state may pass through
# zero just at the end.
# again(m, o, at) returns the states of a second solution at these times. own
# has the indices of the fields in a state. Their derivatives may be off by
# more, for example where fields jump slightly too late.
# Result: error; gap, the absolute error of the state at the end; sure, an error
# of the fields relative to the state in the last three steps, so that it is
# large only where nothing is right; inside, the part from the interval; fields,
# the error of the fields alone. nan: the second solution failed.
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
  # The times of comparison. With stored rows: halfway between them, where the
  # dense output applies, each weighted by its own step; short steps at a jump
  # then have little weight. With given times: those times. For a solution that
  # jumps: irregular points, to avoid its events, whose times differ slightly
  # between both solutions. The end is always included.
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
    # For a state far below atol the steps are meaningless, so the second
    # solution uses a tolerance relative to the state itself.
    atol = min(f64(o.atol), o.rtol * max(abs(s.values)) + 1e-300)
    r = try { again(finer, (...o, rtol = by * o.rtol, atol = by * atol), grid) } catch e {
      expand(nan * Y[0], 0) + 0.0 * expand(grid, 1)
    }
    R = r[searchsorted(way * grid, way * times; side = "left")]
    dt = concat(abs(times[1..] - times[..-1]), zeros(1))
    # The weight of a time is the distance of the rows around it.
    weights = if not jumps and _asks_all(o.saveat) {
      pick = _few_rows(count, shape(s.values)[1])
      concat(abs(s.times[min(pick + 1, count - 1)] - s.times[pick]), zeros(1))
    } else { dt + concat(zeros(1), dt[..-1]) }
    # Accounts for the error of the second solution: half of the first for a
    # method of order one in half the steps, less with a tenth of the
    # tolerances.
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
# Returns the indices of some of `count` rows of n numbers, evenly spaced: few
# for large states, many where a few may matter, as at jumps.
_few_rows(count, n) = {
  few = min(count, if n > 1000 { 64 } else { 256 })
  (iota(few) * max(0, count - 2)) // max(1, few - 1)
}
_finer(m, o, t0, t1) = {
  by = if o.rtol >= 2e-12 { 0.1 } else { 10.0 }
  if has(m, "finer") { m = m.finer(m) }
  # Limits the step, because long steps may miss features of the problem.
  if has(m, "max_step") and not has(m, "finer") {
    ((...m, max_step = min(f64(m.max_step), abs(t1 - t0) / 20)), by)
  } else {
    (m, by)
  }
}

# Checks the error of a solution and returns the solution with it. Above 30 %
# (or rtol) it fails unless partial = true; above 1 % (or rtol) it warns. An
# error at the end within 100 atol is only a warning, since the solution has
# become too small for atol.
_judged_in_time(info, s, e, o) = {
  complete = if has(s, "complete") { s.complete } else { true }
  if not (e.error >= 0) {
    _warning(
      "the error of the solution of {info.name} is not known: a second one to other tolerances did "
      "not get to the end")
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
          "the solution of {info.name} is off by {e.error:.1e} of itself, as a second one to other "
          "tolerances says: rtol and atol are too coarse for it, or it depends on its beginning "
          "more than these numbers can hold; partial = true gives it all the same, estimate = "
          "false unseen")
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
