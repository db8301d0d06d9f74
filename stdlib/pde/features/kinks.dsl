# kinks.dsl - distinction of jumps and kinks at the comparisons of a problem.
#
# The discretisation error of a jump within a grid cell is random; that of a
# kink, such as of max(x - t, 0), is of higher order.
#
# Method: dataflow analysis finds the comparisons (_own_switches), and the
# equations are compared on both sides of their zeros. An undetected case counts
# as a jump.

# Whether equations or conditions may jump within the cells of a grid. 64 lines
# along the axes are divided into 128 parts. A comparison is a kink if it
# changes sign on these and nothing jumps at its zeros. A comparison that
# changes along t alone is in no cell; neither is a condition at an end of a
# line. A comparison that keeps its sign, also downhill from the smallest values
# of 8 sets of lines, is ignored. Cost: 8256 comparisons, and 100 for each zero.
_jumps_at_switches(info) = if _hides_switches_in_space(info) { true } else {
  of = _of_what_counts(info)
  if len(_compared_at(of, _middle_of(info))) == 0 {
    false
  } else {
    frame = _frame(info);
    _primal(() -> _may_jump(frame, of))
  }
}
# Whether the problem compares anything, so that the solution may have
# derivatives that jump.
_compares_values(info) = len(_compared_at(_of_what_counts(info), _middle_of(info))) > 0
_of_what_counts(info) =
  _of_places(info, list(...info.equations,
    ...(if len(info.space) > 1 { _stated(info) } else { _beginnings(info) })))
_may_jump(info, of) = {
  (parts, sets, found) = (128, 8, false)
  first = _compared_at(of, _middle_of(info))
  (seen, differs) = (first != first, first != first)
  (least, nearest) = (zeros(sets, len(first)) + inf, zeros(sets * len(first), len(info.coords)))
  every = each(len(info.coords))
  for i in 0..64 {
    for axis in every {
      if not found and i % len(every) == axis {
        at = s -> _moved_along(_even_point(info, i), axis,
          info.lo[axis] + s * (info.hi[axis] - info.lo[axis]))
        last = _compared_at(of, at(0.0))
        for j in 0..parts {
          next = _compared_at(of, at((j + 1.0) / parts))
          changes = (last <= 0) != (next <= 0)
          seen = seen or changes
          differs = differs or (next <= 0) != (first <= 0)
          for k in 0..len(last) {
            if abs(next[k]) < least[i % sets, k] {
              least[i % sets, k] = abs(next[k])
              nearest[i % sets * len(last) + k] = at((j + 1.0) / parts)
            }
            if not found and axis != info.time and changes[k] {
              found = _jumps_between(of, at, k, f64(j) / parts, (j + 1.0) / parts)
            }
          }
          last = next
        }
      }
    }
  }
  # Signs that differ between lines without a change on any line are
  # unexplained, so they count as jumps.
  found = found or any(differs and not seen)
  for k in 0..len(first) {
    for b in 0..sets {
      if not found and not seen[k] {
        found = _search_downhill(info, every, p -> _compared_at(of, p)[k],
          nearest[b * len(first) + k]).found
      }
    }
  }
  found
}
# Whether the equations jump at the zero of comparison k between two places of a
# line.
_jumps_between(of, at, k, a, b) = {
  first = _compared_at(of, at(a))[k] <= 0
  (lo, hi) = (a, b)
  for turn in 0..50 {
    middle = 0.5 * (lo + hi)
    if (_compared_at(of, at(middle))[k] <= 0) == first { lo = middle } else { hi = middle }
  }
  _jumps_in(s -> _full_at(of, at(s)), lo, hi, 1.0)
}
# Returns the roughness at the knots of tables along each space coordinate: 2
# where values jump at one, 1 where they have a kink, else 0. Of each table 64
# knots are tested, evenly spaced, and with several coordinates on 8 lines.
_roughness_of_tables(info) = {
  rough = 0
  for axis in list(...info.space) {
    along = _compared_along(info, axis, _stated_off(info, axis))
    (lines, searched) = (along.lines, along.searched)
    (lo, hi) = (info.lo[axis] + 0.0, info.hi[axis] + 0.0)
    for k in each(len(searched(lo, _middle_of(info)))) {
      for i in 0..(if len(info.coords) == 1 { 1 } else { 8 }) {
        place = if len(info.coords) == 1 { _middle_of(info) } else { _even_point(info, i) }
        watched = t -> lines(t, place)
        rough = if len(watched(lo)) == 0 { 2 } else {
          max(rough,
            _primal(() -> _roughness_of_table(watched, t -> searched(t, place)[k], lo, hi)))
        }
      }
    }
  }
  rough
}
_roughness_of_table(watched, table, lo, hi) = {
  rough = 0
  at = if _is_fixed(len(table(lo)[1])) and len(table(lo)[1]) == 0 { zeros(0) } else {
    all = sort(table(lo)[1])
    n = min(len(all), 64)
    _knots_passed(t -> table(t)[0], all[iota(n) * len(all) // n],
      lo + (hi - lo) * f64(iota(129)) / 128)[0]
  }
  for t in at {
    if rough < 1 and _bends_at(watched, t, hi - lo) { rough = 1 }
    if rough < 2 and _jumps_in(watched, t, t, hi - lo) { rough = 2 }
  }
  rough
}
