# error_estimates.dsl - error estimates of solutions in space and time: the
# field `error` of what solve returns, and the warnings and errors about it.
#
# Method: Richardson extrapolation (Richardson 1911; Roache, Verification and
# Validation, 1998). A solution on a grid or a mesh is compared with two of the
# same method on coarser grids (finer ones where it has too few points). Three
# solutions show the observed order of convergence. It is lower than the formal
# order where the solution is not smooth or not resolved, and is never taken to
# be higher. For the error in time, the coarsest grid is solved again in half
# the steps, or to a tenth of the tolerances. The estimate is the sum of both
# parts.
#
# Contract for a method, by its fields:
# - `others` returns the method on two other grids.
# - `coarser` returns the method with half as many points, and the factor by
#   which its error is then larger.
# - `in_halves` returns the method in half the steps, where no tolerance
#   controls its steps.
# - Methods that already report the error of the whole solution (rfm, pinn,
#   collocation) keep it.

# Returns the solution s of a problem by the method m with options o, with its
# error. For a given mesh the estimate would have to refine it, so that happens
# only with estimate = true.
_with_error(info, m, o, s) = if kind(s) != "record" { s } else {
  own = if has(s, "error") { s.error } else { none }
  grids = len(info.space) > 0 and (has(m, "others") or has(m, "coarser"))
  given = if has(m, "mesh") { kind(m.mesh) != "none" } else { false }
  adapted = if has(m, "adapt") { kind(m.adapt) != "none" } else { false }
  if _is_declined(o) or adapted { s } else if grids {
    if given and not _is_asked(o) { s } else if info.eigen != "" {
      e = _errors_of_values(info, m, o, s)
      worst = if all(e == e) { max(e) } else { nan }
      (...s, error = if kind(own) == "none" { worst } else { max(worst, own) }, errors = e)
    } else {
      p = _error_parts(info, m, o, s)
      e = if kind(own) == "none" { p[0] + p[1] } else { max(p[0] + p[1], own) }
      (...s, error = e, error_parts = (space = p[0], time = p[1]))
    }
  } else if _is_asked(o) and (kind(own) == "none" or has(m, "time")) {
    (...s, error = _error_by_tolerances(info, m, o, s))
  } else { s }
}
_is_asked(o) = if kind(o.estimate) == "none" { false } else { o.estimate }
_is_declined(o) = if kind(o.estimate) == "none" { false } else { not o.estimate }

# Checks the error of a solution and returns the solution. Above 30 % (or rtol)
# it fails unless partial = true. It warns above 1 % (or rtol), and where the
# error is unknown.
_judged_by_error(info, m, o, s) = {
  e = if kind(s) != "record" { none } else if has(s, "error") { s.error } else { none }
  # The residual of a network's equations is not an error of its values.
  if kind(e) == "array" and m.name != "pinn" {
    if e > max(0.01, o.rtol) {
      if e > max(0.3, o.rtol) and not o.partial {
        if e == inf {
          error(_undetermined(info.name;
            why = "on finer grids the answer to small changes grows without end"))
        }
        error(
          "{_what_is_off(info)} of {info.name} by {m.name}() is off by {100 * e:.2g} %, as its own "
          "estimate says: {_better(m)}. partial = true gives it all the same, estimate = false "
          "unseen")
      }
      _warning(
        "{_what_is_off(info)} of {info.name} by {m.name}() is off by {100 * e:.2g} %, as its own "
        "estimate says: {_better(m)}")
    }
    if e != e {
      _warning(
        "how far {if info.eigen == "" { "the solution" } else { "eigenvalues" }} of {info.name} by "
        "{m.name}() is off is not known: on other grids there is none")
    }
  }
  s
}
_what_is_off(info) = if info.eigen == "" { "the solution" } else { "an eigenvalue" }
_better(m) = {
  by_points = has(m, "n") or has(m, "points")
  if has(m, "features") {
    ("more features may help, and so may fem(adapt = 0.01), which refines where the solution is "
      "steep")
  } else if by_points { "more points make it better" }
  else if has(m, "h") { "smaller elements make it better" }
  else { "tighter tolerances make it better" }
}

# ---- parts

# Returns the relative error as f64[2]: the part of the grid and that of the
# time steps. Each is a root mean square over points of the box or mesh. It is
# evaluated at three times, the last of which is the end (or only at the last of
# given times), and the largest counts. The second part is 0 for problems
# without time. It is also 0 where the grid determines the steps, because the
# first part then includes it. nan: another grid has no solution.
_error_parts(info, m, o, s) = _primal(() -> try { _parts_by_grids(info, m, o, s) } catch e {
  try { _parts_by_finer(info, m, o, s) } catch e { [nan, nan] }
})

# Returns the ends of the time interval, the times of comparison, the times at
# which the other solution is stored, and the options for it.
_comparison_of(info, m, o, s) = {
  (a, b) =
    if info.time < 0 {
      (0.0, 0.0)
    } else if kind(o.t) == "none" {
      (info.lo[info.time] + 0.0, info.hi[info.time] + 0.0)
    } else {
      (f64(o.t[0]), f64(o.t[1]))
    }
  # Between given times a solution is only interpolated, so only the last of
  # them is compared.
  taus = if info.time < 0 {
    [0.0]
  } else if _asks_all(o.saveat) {
    stack(a + (b - a) / 3, a + 2 * (b - a) / 3, b)
  } else {
    stack(f64(o.saveat)[-1])
  }
  # Steps without tolerances end at all given times, so those of the other
  # solution must end there too.
  wanted = if info.time < 0 {
    o.saveat
  } else if has(m, "in_halves") and _asks_all(o.saveat) {
    s.times
  } else {
    taus
  }
  quiet = (...o, progress = false, estimate = false, partial = true, saveat = wanted,
    guess = if has(m, "grid") and info.time < 0 { s } else { o.guess })
  (a, b, taus, wanted, quiet)
}
_parts_by_grids(info, m, o, s) = {
  (others, top, finer) = _others_of(info, m, s)
  quiet = _comparison_of(info, m, o, s)[4]
  first = others[0].method.solve(info, others[0].method, quiet)
  last = if len(others) == 1 {
    first
  } else {
    others[-1].method.solve(info, others[-1].method, quiet)
  }
  if _grows_without_end(info, s, first, last, others) { [inf, 0.0] } else {
    _parts_by_these(info, m, o, s, first, last, others, top, finer)
  }
}
_parts_by_these(info, m, o, s, first, last, others, top, finer) = {
  (a, b, taus, wanted, quiet) = _comparison_of(info, m, o, s)
  rough = others[-1]
  at = _places_in_common(info, s, first)
  (X, A) = (_values_at_all(info, s, at, taus), _values_at_all(info, first, at, taus))
  B = if len(others) == 1 { A } else { _values_at_all(info, last, at, taus) }
  size = _sizes(info, m, o, X)
  meshed = has(s, "mesh")
  gap = _gap(m, X, A, size, meshed)
  chance = _roughness(info, s)
  (next, h, l) = (_gap(m, A, B, size, meshed), others[0].h, others[-1].h)
  space = _by_gaps(m, s, chance, others, gap, next, top)
  # A finer solution is better evidence than two coarser ones. It is used before
  # a solution is refused, or a smooth one gets a warning. On a line it is
  # cheap, and also used where coarser grids show no order.
  large = space >
    (if chance == 2 or (len(info.space) > 1 and _hides_jumps(info, s)) { 0.3 } else { 0.01 })
  unclear = len(info.space) == 1 and chance < 2 and len(others) > 1 and
    space > 10 * max(o.rtol + 0.0) and
    _shows_no_order(m, space, gap, next, h, l)
  space = if kind(finer) == "none" { space } else if h > 1 and (large or unclear) {
    more = finer()
    seen = try {
      F = _values_at_all(info, more.method.solve(info, more.method, quiet), at, taus)
      fine = _gap(m, X, F, size, meshed)
      # A kink in a cell of the finer grid may add little error by chance.
      if chance == 1 {
        max(fine / (1 - more.h^2), gap / h^4)
      } else {
        _by_both(fine, gap, more.h, h, top)
      }
    } catch e { space }
    if space > 0.3 { seen } else { min(space, seen) }
  } else { space }
  # Where factors switch with the unknowns, fd's discrete equations can have
  # spurious solutions on every grid; a solution by elements reveals them.
  space = if info.time >= 0 or m.name != "fd" or not _has_jumps(info) { space } else {
    apart = try {
      _gap(m, X, _values_at_all(info, _by_elements(info, quiet), at, taus), size, true)
    } catch e {
      0.0
    }
    if apart > 0.1 { max(space, apart) } else { space }
  }
  later = if info.time < 0 {
    none
  } else {
    _in_finer_steps(info, m, rough.method, quiet, last, s, a, b)
  }
  time = if kind(later) == "none" { 0.0 } else if later.factor == 0 { 0.0 } else {
    C = _values_at_all(info, later.method.solve(info, later.method, later.o), at, taus)
    later.factor * _gap(m, if later.own { X } else { B }, C, size, meshed)
  }
  stack(space, time)
}
# Returns the error of a solution from its difference `gap` to one on another
# grid, and the difference `next` of that one to a third.
_by_gaps(m, s, rough, others, gap, next, top) = {
  (h, l) = (others[0].h, others[-1].h)
  if len(others) == 1 { gap / abs(h - 1) } else if rough == 2 {
    # The position of a jump within its cell decides the error, and differs on
    # each grid.
    max(gap, next) / abs(h^0.5 - 1)
  } else if rough == 1 {
    # The error of a kink within a cell is also random, but falls with the
    # square of the width.
    if m.name == "fd" or has(s, "mesh") {
      max(gap, next * (h / l)^4) / abs(h^2 - 1)
    } else {
      _by_three(gap, next, h, l, 8.0)
    }
  } else { _by_three(gap, next, h, l, top) }
}
# Returns how far the position of a switch within a cell makes the error random.
# 2: all of it. 1: a part that falls with the square of the cell width. 0: not
# at all.
_roughness(info, s) = {
  told = if _jumps_in_cells(info, s) { 2 } else if not _hides_bends(info, s) { 0 }
  else if _jumps_at_switches(info) { 2 } else { 1 }
  # Elements end at declared jumps of tables, and are of low order where tables
  # have kinks.
  if s.method == "fem" or s.method == "fv" { told } else { max(told, _roughness_of_tables(info)) }
}
# Whether the differences of three grids are far from the order k of method m:
# the estimate `space` is more than three times what `gap` and that order imply,
# or `gap` is less than half of what `next` implies.
_shows_no_order(m, space, gap, next, h, l) = {
  k = if has(m, "order") and m.order > 0 {
    m.order + (if m.name == "fem" { 1.0 } else { 0.0 })
  } else {
    8.0
  }
  space * abs(h^k - 1) > 3 * gap or next * abs(h^k - 1) > 2 * abs(l^k - h^k) * gap
}

# ---- eigenvalues

# Returns the relative error of each eigenvalue. It compares with the nearest
# eigenvalues of other grids, for which more of them are computed. nan: another
# grid has none.
_errors_of_values(info, m, o, s) = _primal(() -> {
  (others, top, finer) = _others_of(info, m, s)
  asked = 4 + (if has(m, "grid") { m.count } else if kind(o.count) == "none" { 6 } else { o.count })
  quiet = (...o, progress = false, estimate = false, partial = true, count = asked, guess = none)
  # Returns the eigenvalues on another grid, and the rounding error of each.
  on = other -> {
    own = if has(m, "grid") { (...other.method, count = asked) } else { other.method }
    try {
      found = own.solve(info, own, quiet)
      V = _eigenvalues_of(info, found)
      (V, if has(found, "rounding") { found.rounding() } else { 0.0 * V })
    } catch e { (zeros(1) + nan, zeros(1)) }
  }
  of = other -> on(other)[0]
  A = of(others[0])
  V = stop_gradient(_eigenvalues_of(info, s))
  size = _sizes_of_values(V, concat(V, where(A == A, A, 0.0)))
  gaps = abs(_nearest_of(A, V) - V) / size
  next = if len(others) == 1 { gaps } else {
    B = _nearest_of(A, V)
    abs(_nearest_of(of(others[-1]), B) - B) / size
  }
  (rough, several) = (_jumps_in_cells(info, s) or _hides_jumps(info, s), len(info.space) > 1)
  series = if has(m, "order") { m.order == 0 } else { false }
  by_gaps = _errors_by_gaps(m, s, _roughness(info, s), others, gaps, next, top)
  e = _with_neighbours(V, by_gaps, max(gaps, next), rough, several, series)
  # One finer grid is better evidence than two coarser ones. Where it is
  # expensive, it is used only for a large error.
  d = len(info.space)
  dear = d > 2 or (d == 2 and series and s.stats.unknowns > 500)
  enough = dear and all(e <= 0.01)
  # The rounding errors of two grids are independent.
  own = if has(s, "rounding") { s.rounding() / size } else { 0.0 * V }
  if enough or kind(finer) == "none" or others[0].h < 1 { max(e, own) } else {
    more = finer()
    (F, R) = on(more)
    if all(F == F) {
      fine = max(abs(_nearest_of(F, V) - V), abs(_at_the_same_place(F, V, size) - V)) / size
      round = R[_nearest_at(F, V)] / size
      # Where rounding on the finer grid explains the difference, that
      # difference is only an upper bound of the error.
      hidden = fine <= 4 * round
      told = _errors_by_finer(fine, where(gaps < 0.3, gaps, nan), next, hidden, more.h, others[0].h,
        top, series)
      told = where(hidden and gaps <= 4 * own, told,
        _with_neighbours(V, told, max(gaps, fine), rough, several, series))
      # The rounding bound is for the worst case. It is reduced where two other
      # grids both show less than half of it.
      shown = where(hidden and gaps < own, 2 * max(gaps, fine * own / max(round, 1e-300)), own)
      max(told, min(own, shown))
    } else { max(e, own) }
  }
})
# Returns the scale of the error of each eigenvalue in V: its own size, or where
# it is nearly 0, a thousandth of its distance to the nearest other one in W.
_sizes_of_values(V: f64[n], W) = {
  out = abs(V)
  top = max(abs(W))
  for k in 0..n {
    apart = abs(W - V[k])
    out[k] = max(abs(V[k]), 1e-3 * min(where(apart > 1e-6 * top, apart, top)), 1e-300)
  }
  out
}
# Raises estimates that are small by chance. The errors of eigenvalues V grow
# from each to the next roughly like a power. A much smaller difference of two
# grids means that their errors agree by chance; then the estimate of the
# neighbours is used. rough: the position of a switch in its cell decides the
# errors, so the largest of the neighbours counts. several: there are several
# coordinates, so neighbours may be modes of another one, and the largest counts
# as well. apart: the larger difference among three grids, which is less likely
# to be small by chance. series: errors span many magnitudes, so the neighbours
# provide only the ratio of error to difference.
_with_neighbours(V: f64[n], e: f64[n], apart: f64[n], rough, several, series) = {
  order = argsort(V)
  (told, out, own) = (e[order], e, apart[order])
  share = told / max(own, 1e-300)
  for k in 0..n {
    (a, b, c, d) = (max(k - 1, 0), min(k + 1, n - 1), min(k + 2, n - 1), max(k - 2, 0))
    (below, above, beyond) = (told[a], told[b], told[c])
    between = if several or rough {
      0.4 * max(below, above, beyond, told[d])
    } else {
      0.25 * (if k == 0 {
        above * min(1.0, above / max(beyond, 1e-300))
      } else if k == n - 1 {
        below
      } else {
        sqrt(below * above)
      })
    }
    if several and series and not rough {
      between = min(between, own[k] * max(share[a], share[b], share[c], share[d]))
    }
    out[order[k]] = if between > told[k] and not (own[k] < 1e-4 * between) {
      between
    } else {
      told[k]
    }
  }
  out
}
# On a line s has the first eigenvalue under its name, and all of them as
# values.
_eigenvalues_of(info, s) = { λ = field(s, info.eigen); if rank(λ) == 1 { λ } else { s.values } }
# For each of the numbers v, returns the nearest element of w, and its index.
_nearest_of(w: f64[m], v: f64[n]) = w[_nearest_at(w, v)]
_nearest_at(w: f64[m], v: f64[n]) = {
  out = zeros_like(i64(v))
  for k in 0..n { out[k] = argmin(where(w == w, abs(w - v[k]), inf)) }
  out
}
# For each of v, returns the element of w with the same index where that is
# close, because the nearest may belong to another eigenvalue.
_at_the_same_place(w: f64[m], v: f64[n], size: f64[n]) = {
  out = v
  for k in 0..min(m, n) { if abs(w[k] - v[k]) <= 0.1 * size[k] { out[k] = w[k] } }
  out
}
_errors_by_gaps(m, s, rough, others, gaps: f64[n], next: f64[n], top) = {
  e = gaps
  for k in 0..n { e[k] = _by_gaps(m, s, rough, others, gaps[k], next[k], top) }
  e
}
# series: the error of a smooth function falls exponentially with the number of
# points, faster than any order.
_errors_by_finer(fine: f64[n], gaps: f64[n], next: f64[n], hidden, h, l, top, series) = {
  e = fine
  for k in 0..n {
    told = if gaps[k] == gaps[k] {
      _by_both(fine[k], gaps[k], h, l, top)
    } else {
      fine[k] / abs(1 - h)
    }
    # A difference that falls faster than possible from the coarser grid may
    # stagnate by chance on the finer one.
    slow = gaps[k] / (l^top - 1.0)
    coarse = if series and next[k] > gaps[k] {
      min(slow, gaps[k] * (gaps[k] / next[k])^l)
    } else {
      slow
    }
    e[k] = if hidden[k] {
      if coarse < told { coarse } else { told }
    } else if coarse > told {
      sqrt(coarse * told)
    } else {
      told
    }
  }
  e
}

# Whether the response to fixed sources, the same on all grids, grows faster
# than the grids are refined. The equations then determine no solution, even
# where the grids agree. Where a condition at a point replaces a balance, such
# sources have no response, and growth is legitimate. With fewer than three
# values of a field along each axis the test is unreliable.
_grows_without_end(info, s, first, last, others) = {
  told = len(others) > 1 and has(s.stats, "response") and not _has_values_at_points(info)
  if told {
    h = stack(1.0, others[0].h, others[1].h)
    r = stack(s.stats.response, first.stats.response, last.stats.response)
    (fine, coarse) = (argmin(h), argmax(h))
    n = stack(s.stats.unknowns, first.stats.unknowns, last.stats.unknowns)[coarse]
    n >= len(info.fields) * 3^len(info.space) and
      r[fine] > max(2.0, h[coarse] / h[fine]) * r[coarse]
  } else { false }
}

_has_values_at_points(info) = {
  any = false
  for c in info.conditions { if c.at.coord < 0 and kind(c.at.point) != "none" { any = true } }
  any
}

# Returns the error parts where a coarser grid has no solution. It compares with
# a finer one to tighter tolerances, and assumes first order.
_parts_by_finer(info, m, o, s) = {
  (_, _, taus, _, quiet) = _comparison_of(info, m, o, s)
  (_, _, finer) = _others_of(info, m, s)
  if kind(finer) == "none" { [nan, nan] } else {
    more = finer()
    tighter = (...quiet, rtol = 0.1 * quiet.rtol, atol = 0.1 * quiet.atol)
    F = more.method.solve(info, more.method, tighter)
    at = _places_in_common(info, s, F)
    (X, Y) = (_values_at_all(info, s, at, taus), _values_at_all(info, F, at, taus))
    [_gap(m, X, Y, _sizes(info, m, o, X), has(s, "mesh")) / abs(1 - more.h), 0.0]
  }
}

# Whether an equation differentiates an expression that may jump elsewhere than
# where the solution's elements end.
_jumps_in_cells(info, s) = _has_jumps(info) and
  not (_is_cut(s) and _jumps_at_places(info) and not _jumps_across(info) and
    not _hides_switches_in_space(info))
# Whether a comparison switches within the cells of a solution, which have one
# value for it (fv() uses cell means).
_hides_jumps(info, s) = if s.method == "fv" { false } else {
  _jumps_across(info) or (not _is_cut(s) and _switches_in_space(info))
}
# Whether the position of a switch in a cell decides the error, or of a kink a
# part of higher order. Elements have many quadrature points where a comparison
# is of several coordinates, so they have neither.
_hides_bends(info, s) =
  _hides_jumps(info, s) and not (s.method == "fem" and (_is_cut(s) or not _switches_in_space(info)))

# Returns the error of a solution on a grid of width 1. first: its difference to
# the solution of width h. second: the difference of that one to the solution of
# width l. The order k, between 1/2 and the formal order top, is the one that
# explains both differences. Errors that seem to fall faster mean that the error
# of width h may be small by chance; then the geometric mean of both estimates
# is returned.
_by_three(first, second, h, l, top) = {
  proportion = k -> abs(l^k - h^k) / abs(h^k - 1)
  # Coarse grids that differ by this much are not in the asymptotic range.
  (low, high) =
    (0.5, if l < h { top + 0.0 } else if first > 0.2 { 1.0 } else if first >
      0.05 { 2.0 } else { top + 0.0 })
  # The proportion grows with the order for coarser grids, and falls for finer
  # ones.
  rising = if l > h { 1.0 } else { -1.0 }
  for turn in 0..50 {
    k = 0.5 * (low + high)
    if rising * (second - proportion(k) * first) >= 0 { low = k } else { high = k }
  }
  least = first / abs(h^low - 1)
  if l > h {
    excess = second / max(proportion(top + 0.0) * first, 1e-300)
    least * sqrt(min(max(excess, 1.0), max(h^low - 1, 1.0)))
  } else { least }
}

# Returns the same error from the difference to a finer solution, of width h <
# 1, and to a coarser one, of width l.
_by_both(fine, coarse, h, l, top) = {
  apart = max(fine, coarse)
  # As above: grids that differ by this much are not in the asymptotic range.
  (low, high) = (0.5, if apart > 0.1 { 1.0 } else if apart > 0.03 { 2.0 } else { top + 0.0 })
  for turn in 0..50 {
    k = 0.5 * (low + high)
    if coarse * (1 - h^k) >= fine * (l^k - 1) { low = k } else { high = k }
  }
  fine / (1 - h^low)
}

# Returns two other grids as (method, h), with h their width relative to that of
# s. Also the formal order, and a function for a finer grid (none where the two
# may be finer).
_others_of(info, m, s) = if has(m, "others") { m.others(info, m, s) } else {
  (a, factor) = m.coarser(info, m, s)
  (b, _) = a.coarser(info, a, s)
  (((method = a, h = 2.0), (method = b, h = 4.0)), log2(factor) + 1, none)
}

# Returns a method with finer time steps, its options, and the factor from a
# difference to the error of s. own: whether the difference is to s itself, by
# method own_method, or to the solution `last` on another grid, by method m.
# Returns none where the grid alone determines the steps.
_in_finer_steps(info, own_method, m, o, last, s, a, b) =
  if has(m, "in_halves") { m.in_halves(info, own_method, m, o, last, s, a, b) } else {
    given = if has(m, "step") { m.step } else { none }
    spectral = m.name == "fourier" and
      (if kind(given) == "none" { true } else { has(given, "spectral") })
    waves = if spectral { _is_semilinear(info, info.time) } else { false }
    if waves {
      step = if kind(given) == "none" { etdrk4() } else { given }
      (method = (...m, step = (...step, dt = abs(b - a) / (2.0 * last.stats.steps))), o = o,
        factor = 2.0, own = false)
    } else if has(m, "time") {
      stepper = if kind(given) == "none" { m.time } else { given }
      fixed = stepper.name == "rk4" or stepper.name == "euler" or stepper.name == "symplectic"
      if fixed {
        half = _in_halves(stepper)
        (method = if kind(given) == "none" { (...m, time = half) } else { (...m, step = half) },
          o = o, factor = 2.0, own = false)
      } else { _to_finer_tolerances(m, o) }
    } else if m.name == "fem" { _to_finer_tolerances(m, o) } else { none }
  }
# Near rounding, wider tolerances are more informative than narrower ones.
_to_finer_tolerances(m, o) = {
  by = if o.rtol >= 2e-12 { 0.1 } else { 10.0 }
  (method = m, o = (...o, rtol = by * o.rtol, atol = by * o.atol, shorter = 4.0), factor = 1.25,
    own = false)
}

# ---- values

# Returns the points of comparison: of the box, or inside the cells of another
# mesh.
_places_in_common(info, s, r) = {
  d = len(info.space)
  if has(r, "mesh") {
    # Away from vertices and midpoints, where elements are superconvergent.
    X = r.mesh.points[_framed(_cell_of(r.mesh, d), r.mesh.cells)]
    inner = [0.29, 0.17, 0.13][..d]
    X = X[.., 0, ..] + sum(expand(inner, 1) * (X[.., 1.., ..] - X[.., ..1, ..]); axis = 1)
    map(a -> X[.., a], each(d))
  } else { list(..._points_in_box(info, (...info.space,), if d == 1 { 389 } else { 400 })) }
}
# Returns, for each field, its values at these points, one row a time.
_values_at_all(info, s, at, taus) = map(f -> {
  u = field(s, f)
  rows = list()
  for i in each(len(taus)) {
    here = if info.time < 0 { (...at,) } else { _with_time(info, (...info.space,), taus[i], at) }
    rows = push(rows, ravel(u(...here) + 0.0))
  }
  stack(...rows)
}, list(...info.fields))

# Returns the scale of the differences of each field at each time: its size
# there, or at other times (_own_sizes). The scale is at least a hundredth of
# the size where a given absolute tolerance dominates the relative one. Without
# a given one it is at least a millionth of that for the largest field.
_sizes(info, m, o, X) = {
  own = map(u -> _length(m, where(abs(u) < inf, u, 0.0)), X)
  all = max(stack(...map(v -> max(v), own)))
  given = 0.01 * max(o.atol + 0.0) / max(o.rtol, 1e-300) * _length(m, ones(1, shape(X[0])[1]))[0]
  least = min(given, if _is_by_size(o) { 1e-8 * all } else { all }) + 1e-300
  map(v -> _own_sizes(info, v, max(v), least), own)
}
# Rows are measured in the root mean square. Finite volumes use the mean
# absolute value (L1), in which the error of a shock falls with the cell width
# instead of its square root.
_length(m, u) = if m.name == "fv" { sum(abs(u); axis = 1) } else { norm(u; axis = 1) }
# Returns the largest difference of any field at any time. With meshes, points
# near the boundary may be in one mesh only. nan: the other solution has no
# values, for example on a grid where the equations are singular.
_gap(m, X, Y, size, meshed) = {
  (worst, lost) = (0.0, false)
  for i in each(len(X)) {
    d = X[i] - Y[i]
    known = abs(d) < inf
    off = if meshed { where(known, d, 0.0) } else { where(known, d, inf) }
    worst = max(worst, max(_length(m, off) / size[i]))
    finite = abs(Y[i]) < inf
    lost = lost or (if meshed { not any(finite) } else { not all(finite) })
  }
  if lost { nan } else { worst }
}

# ---- tolerances

# For a method in one coordinate that integrates to tolerances or in fixed
# steps: compares with a second solution to wider tolerances, or in steps of
# twice the length.
_error_by_tolerances(info, m, o, s) = {
  (rough, factor) = if has(m, "coarser") { m.coarser(info, m, s) } else { (m, 16.0) }
  r = rough.solve(info, rough,
    (...o, rtol = min(0.1, factor * o.rtol), atol = factor * o.atol, progress = false))
  ends = if len(s.times) == 0 {
    (info.lo[0] + 0.0, info.hi[0] + 0.0)
  } else {
    (info.lo[0] + 0.0, s.times[-1])
  }
  at = linspace(ends[0], ends[1], 64)
  sample = s -> concat(...map(f -> ravel(field(s, f)(at) + 0.0), (...info.fields,)))
  (fine, coarse) = (sample(s), sample(r))
  norm(fine - coarse) / max(1e-300, norm(fine)) / abs(factor - 1)
}

# ---- other grids

# For fd, chebyshev and fourier: half and a quarter of the points, or grids
# closer together where those have too few points. It takes more points where
# even these are too few, or where they are cheap: on a line without t, or
# series of at most 32 terms. Series use the same ratio in both steps.
_grid_others(info, m, s) = {
  count = len(info.space)
  local = m.name == "fd"
  points = map(p -> _points_in(m.n, p, count, m.usual), each(count))
  least = map(i -> {
    top = _top_by(info, i)
    w = 2 * ((top + 1) // 2) - 1 + m.order
    if not local { max(4, top + 1) } else if info.periodic[i] { w } else { 2 * w }
  }, list(...info.space))
  fits = (num, den) -> {
    all_ = true
    for p in each(count) { if points[p] * num // den < least[p] { all_ = false } }
    all_
  }
  # With several coordinates, finer grids cost more than the solution itself.
  (eighths, beyond) = if count == 1 { (12, 16) } else if count == 2 { (10, 12) } else { (9, 10) }
  # With few points the next finer grid would have as many again.
  n = min(...points)
  step = if local { 1 } else { 2 }
  more = max(eighths * n // 8, n + step)
  larger = ((more, n), (max(beyond * n // 8, more + step), n))
  # Eigenproblems also use fewer points, because many points lose digits to
  # rounding.
  ((a, b), (c, d)) =
    if count == 1 and info.eigen == "" and (info.time < 0 or (not local and points[0] <= 32)) {
      larger
    } else if local and fits(1, 4) { ((1, 2), (1, 4)) }
  else if local and fits(4, 9) { ((2, 3), (4, 9)) }
  else if fits(9, 16) { ((3, 4), (9, 16)) }
  else if local and count > 1 and fits(64, 81) { ((8, 9), (64, 81)) }
  else { larger }
  (e, f) = larger[0]
  (((method = _with_points(info, m, points, a, b), h = _widening(info, m, points[0], a, b)),
    (method = _with_points(info, m, points, c, d), h = _widening(info, m, points[0], c, d))),
    if _jumps_in_cells(info, s) or _hides_jumps(info, s) {
      1.0
    } else if local {
      m.order + 0.0
    } else {
      24.0
    },
    () -> (method = _with_points(info, m, points, e, f), h = _widening(info, m, points[0], e, f)))
}
# Series keep the parity of their number of points, so that even functions are
# represented in the same way.
_fewer(m, n, num, den) = {
  k = n * num // den
  if m.name == "fd" { k } else { k + (k + n) % 2 }
}
_with_points(info, m, points, num, den) = {
  ns = map(n -> _fewer(m, n, num, den), points)
  (...m, n = if len(ns) == 1 { ns[0] } else { (...ns,) })
}
_widening(info, m, n, num, den) = {
  k = _fewer(m, n, num, den)
  if m.name == "fd" and not info.periodic[info.space[0]] {
    (n - 1.0) / (k - 1.0)
  } else {
    f64(n) / k
  }
}
# For fv: half and a quarter of the cells, or where there are few, twice and
# four times as many. The order is between first, as at shocks, and second. Time
# steps grow with the cells, also where sources or pulses limit them. Where
# steps end at given times, they do not; then the other solutions take as many
# steps as s, and the error in time is estimated separately.
_fv_others(info, m, s) = {
  # A start at a given time may cause a first-order error, even if two grids
  # agree by chance.
  top = if _switches_by_clock(info) { 1.0 } else { 2.0 }
  many = true
  for n in (if kind(m.n) == "tuple" or kind(m.n) == "list" { m.n } else { (m.n,) }) {
    if n < 16 { many = false }
  }
  ((a, b), (c, d)) = if many { ((1, 2), (1, 4)) } else { ((2, 1), (4, 1)) }
  (((method = _with_cells(m, a, b, s), h = f64(b) / a),
    (method = _with_cells(m, c, d, s), h = f64(d) / c)), top, none)
}
_with_cells(m, num, den, s) = {
  by = n -> max(n * num // den, 1)
  (...m, n = if kind(m.n) == "tuple" or kind(m.n) == "list" { map(by, (...m.n,)) } else { by(m.n) },
    calm = 1.0, pace = f64(num) / den, at_least = if _fv_ends_often(s) {
      f64(s.stats.steps)
    } else {
      0.0
  })
}
_fv_ends_often(s) = s.stats.steps < 4 * len(s.times)
# Returns a method with twice as many steps, also where steps end at given
# times. Where short features in time limit the steps, a solution on a coarser
# grid may see them better by chance, in steps of equal length. There s itself
# is solved again, which takes twice as long as s.
_fv_in_halves(info, own_method, m, o, last, s, a, b) = {
  clock = _clock_of(info)
  own = len(clock.watched(a)) > 0
  (m, last) = if own { (own_method, s) } else { (m, last) }
  order = if _switches_by_clock(info) or m.steps == "euler" { 1.0 } else { 2.0 }
  times = f64(o.saveat)[f64(o.saveat) > a]
  between = concat(expand(a, 0), times[..-1])
  halves = ravel(stack(0.5 * (between + times), times; axis = 1))
  cfl = if m.cfl > 0 { m.cfl } else { 0.8 }
  # Steps an eighth as long as features require add no error that counts.
  switches = if own { _restarts_along(clock, a, b, 16) } else { zeros(0) }
  limited = own and 8 * _fv_steps_for_features(clock, switches, a, b, 1.0) > s.stats.steps
  (method = (...m, cfl = 0.5 * cfl, calm = 2.0, pace = 2 * _fv_pace_factor(m),
    at_least = 2.0 * last.stats.steps, max_steps = 4 * m.max_steps),
    o = (...o, saveat = halves, rtol = 0.1 * o.rtol, atol = 0.1 * o.atol),
    factor = if _fv_ends_often(s) or limited {
      (f64(last.stats.steps) / s.stats.steps)^order / (1 - 0.5^order)
    } else {
      0.0
    }, own = own)
}
# For fem: elements of twice and four times the length, or shorter ones where
# there are few. A given mesh is refined once, and the error is assumed to fall
# with at most the first power.
_fem_others(info, m, s) = {
  top = if _jumps_in_cells(info, s) or _hides_jumps(info, s) {
    1.0
  } else {
    _known(m.order, "the order of the elements") + 1.0
  }
  if kind(m.mesh) != "none" {
    (((method = (...m, mesh = refine(m.mesh)), h = 0.5),), top, none)
  } else {
    d = len(info.space)
    M = s.mesh
    lengths = norm(M.points[M.cells[.., 0]] - M.points[M.cells[.., 1]]; axis = 1)
    many = len(M.cells) > 8 * 4^d
    cells = if has(M, "axes") { "boxes" } else { "simplices" }
    cut = _is_cut(s)
    region = if cut { M.region } else if kind(info.region) != "none" { info.region } else {
      box(...map(a -> (info.lo[a], info.hi[a]), list(...info.space)))
    }
    cut_by = by -> {
      # Edges near narrow features are short, and not typical.
      h = by * (if cut { region.h } else { mean(lengths) })
      mesh(if cut { (...region, parts = max(1, i64(region.parts / by)), h = h) } else { region }, h;
        cells = cells)
    }
    made = (by, least) -> {
      # Where cells are as large as the region, slightly shorter edges make the
      # same mesh.
      if by < 1 { while len(cut_by(by).cells) <= least { by = 0.7by } }
      N = cut_by(by)
      (method = (...m, mesh = N), h = (len(M.cells) / f64(len(N.cells)))^(1.0 / d))
    }
    n = len(M.cells)
    others = if many { (made(2.0, 0), made(4.0, 0)) } else {
      first = made(0.7, n)
      (first, made(0.5, len(first.method.mesh.cells)))
    }
    (others, top, () -> made(0.7, n))
  }
}
