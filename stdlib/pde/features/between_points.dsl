# between_points.dsl - detection of features between all points of a grid, in
# two or three space coordinates (for one see switching.dsl).
#
# A small heated disk may contain no grid point, on coarser grids neither.
#
# Method: dataflow analysis finds comparisons of several coordinates
# (_own_switches). Where one has the same sign at all points, a pattern search
# (Hooke and Jeeves 1961) downhill from 4^d points looks for the other sign.
# Smooth narrow features are sampled on a regular lattice, so features narrower
# than its cells may be missed.

# Returns the equations and initial conditions, prepared for evaluation at
# places p, f64[coordinates]. It holds data and no closures, since a problem may
# hold a whole solution, which each closure would capture.
_by_places(info) = _of_places(info, list(...info.equations, ..._beginnings(info)))
# Returns the initial conditions.
_beginnings(info) = {
  all = list()
  for c in _stated(info) { if info.time >= 0 and c.at.coord == info.time { all = push(all, c) } }
  all
}
# Returns the same for these equations and conditions.
_of_places(info, all) =
  (all = all, jets = _three_jets(info), time = info.time, space = list(...info.space),
    every = each(len(info.coords)), normal = (...map(i -> 0.6, list(...info.space)),))
# Returns the compared values that depend on the coordinates alone, but not on
# the time alone: f64[k].
_compared_at(of, p) = {
  # The analysis ignores a captured time.
  τ = if of.time < 0 { 0.0 } else { p[of.time] }
  left = q -> (p, j) -> _left_at(q, map(i -> if i == of.time { τ } else { p[i] }, of.every), j,
    of.normal)
  concat(zeros(0), ...map(q -> _own_switches(left(q), p, of.jets[0]), of.all))
}
# Returns how many comparisons depend on several coordinates.
_apart_at(of, p) = {
  left = (q, axis) -> (x, p, j) -> _left_at(q, map(i -> if i == axis { x } else { p[i] }, of.every),
    j, of.normal)
  n = len(_compared_at(of, p))
  for axis in of.space {
    for q in of.all { n = n - len(_own_switches(left(q, axis), p[axis], p, of.jets[0])) }
  }
  n
}
# Returns the values that depend on the coordinates alone: f64[k].
_watched_at(of, p) =
  concat(zeros(0),
    ...map(q -> _watched((p, j) -> _left_at(q, map(i -> p[i], of.every), j, of.normal), p,
      of.jets[0]), of.all))
# Returns the residuals for three values of all derivatives: f64[k].
_full_at(of, p) =
  concat(
    ...map(
      js -> concat(...map(q -> ravel(_left_at(q, map(i -> p[i], of.every), js, of.normal) + 0.0),
        of.all)), of.jets))
# Returns the parts of a problem that describe its places.
_frame(info) =
  (coords = info.coords, lo = info.lo, hi = info.hi, space = info.space, time = info.time,
    fields = info.fields)
# Whether a problem compares several coordinates, so that it jumps within cells
# of every shape.
_jumps_across(info) =
  len(info.space) > 0 and len(info.coords) > 1 and _apart_at(_by_places(info), _middle_of(info)) > 0
_middle_of(info) = stack(...map(i -> 0.63 * info.lo[i] + 0.37 * info.hi[i], each(len(info.coords))))

# Fails, or with partial = true warns, where a spot contains no point of a
# solution's grid. axes: the places along each space axis, which form the points
# unless the solution has a mesh. Cost: a residual for each point, about a
# thousand in each search, and 256² or 48³ for watched values.
_check_spots(info, m, o, s, axes) = if len(info.space) > 1 {
  of = _by_places(info)
  p = _middle_of(info)
  hidden = if _apart_at(of, p) > 0 or _is_watched(of, p) {
    (frame, flashes) = (_frame(info), _flashes_of(info, true))
    _primal(() -> _hidden_spot(frame, of, s, axes, flashes))
  } else { (found = false, p = p) }
  if hidden.found {
    (i, j, k) = (info.space[0], info.space[1], info.space[-1])
    more = if len(info.space) > 2 { ", {info.coords[k]} = {hidden.p[k]:.4g}" } else { "" }
    said =
      ("{info.name} changes about {info.coords[i]} = {hidden.p[i]:.4g}, {info.coords[j]} = "
        "{hidden.p[j]:.4g}{more}, and no point of {m.name}() is there, so that it sees nothing of "
        "it: {_better(m)}")
    if o.partial {
      _warning(said)
    } else {
      error("{said}. partial = true gives the solution all the same")
    }
  }
}
# Whether there are watched values, and not of very many unknowns.
_is_watched(of, p) =
  { n = len(_watched_at(of, p)); if _is_fixed(n) { n > 0 and n <= 64 } else { false } }

# Returns whether there is a spot at one of three times or in a flash, and a
# place in it.
_hidden_spot(info, of, s, axes, flashes) = {
  points = if has(s, "mesh") { s.mesh.points } else { none }
  span = if info.time < 0 {
    [0.0]
  } else {
    info.lo[info.time] + (info.hi[info.time] - info.lo[info.time]) * [0.11, 0.5, 0.89]
  }
  span = if info.time < 0 {
    span
  } else {
    concat(span, flashes.at[.., info.time][flashes.brief > 0])
  }
  (found, p) = (false, _middle_of(info))
  for τ in span {
    if not found {
      r = _hidden_at(info, of, axes, points, τ)
      # Ignore spots outside of a region.
      inside = if not r.found {
        false
      } else if kind(points) == "none" {
        true
      } else {
        _is_in_mesh(info, s, r.p)
      }
      (found, p) = if inside { (true, r.p) } else { (found, p) }
    }
  }
  (found = found, p = p)
}
_is_in_mesh(info, s, p) = {
  u = field(s, info.fields[0])
  # For an eigenproblem, the first of a list.
  v = ravel((if kind(u) == "list" { u[0] } else { u })(...map(i -> p[i], each(len(info.coords)))) +
    0.0)
  all(v == v)
}
_hidden_at(info, of, axes, points, τ) = {
  r = if _apart_at(of, _middle_of(info)) > 0 {
    _jump_hidden(info, of, axes, points, τ)
  } else {
    (found = false, p = _middle_of(info))
  }
  if _is_watched(of, _middle_of(info)) {
    if r.found { r } else { _peak_hidden(info, of, axes, points, τ) }
  } else { r }
}

# Returns point i of a grid or a mesh at a time, with all coordinates.
_spot_point(info, axes, points, τ, i) = {
  p = _middle_of(info)
  if info.time >= 0 { p[info.time] = τ }
  stride = 1
  for (a, axis) in enumerate(list(...info.space)) {
    p[axis] = if kind(points) == "none" {
      axes[a][i // stride % len(axes[a])]
    } else {
      points[i, a]
    }
    stride = if kind(points) == "none" { stride * len(axes[a]) } else { 1 }
  }
  p
}
_spot_points(axes, points) = if kind(points) == "none" {
  n = 1
  for x in axes { n = n * len(x) }
  n
} else { len(points) }

# Searches for a place where a comparison has a sign that it has at no point.
_jump_hidden(info, of, axes, points, τ) = {
  n = _spot_points(axes, points)
  at = i -> _spot_point(info, axes, points, τ, i)
  first = _compared_at(of, at(0))
  width = len(first)
  blocks = 4^len(info.space)
  least = zeros(blocks, width) + inf
  nearest = iota(blocks * width) * 0
  one = first == first
  for i in 0..n {
    p = at(i)
    v = _compared_at(of, p)
    one = one and (v <= 0) == (first <= 0)
    b = 0
    for axis in list(...info.space) {
      b = 4 * b +
        max(0, min(3, i64(4 * (p[axis] - info.lo[axis]) / (info.hi[axis] - info.lo[axis]))))
    }
    for k in 0..width {
      if abs(v[k]) < least[b, k] {
        least[b, k] = abs(v[k])
        nearest[b * width + k] = i
      }
    }
  }
  (found, place) = (false, at(0))
  for k in 0..width {
    for b in 0..blocks {
      if one[k] and not found and least[b, k] < inf {
        r = _search_downhill(info, info.space, p -> _compared_at(of, p)[k],
          at(nearest[b * width + k]))
        if r.found { (found, place) = (_is_a_spot(info, of, k, r.p), r.p) }
      }
    }
  }
  (found = found, p = place)
}
# Searches along axes from a place to where g has the other sign.
_search_downhill(info, axes, g, start) = {
  (p, v) = (start, g(start))
  (step, found, turns) = (0.125, false, 0)
  while step > 1e-10 and not found and turns < 1000 {
    turns = turns + 1
    better = false
    for axis in list(...axes) {
      for way in [-1.0, 1] {
        if not found {
          y = p
          y[axis] =
            min(max(p[axis] + way * step * (info.hi[axis] - info.lo[axis]), info.lo[axis] + 0.0),
              info.hi[axis] + 0.0)
          w = g(y)
          if w == w and (w <= 0) != (v <= 0) { (found, p) = (true, y) }
          else if abs(w) < abs(v) { (p, v, better) = (y, w, true) }
        }
      }
    }
    step = if better { step } else { 0.5 * step }
  }
  (found = found, p = p)
}
# Whether the spot is wider than a hundredth of the domain along an axis, or its
# values do not continue those on both sides. A formula that would fail at a
# place is often replaced by another there; that is no spot.
_is_a_spot(info, of, k, place) = {
  inner = _compared_at(of, place)[k] <= 0
  (p, wide, other) = (place, false, false)
  # First move to the middle, because at the edge the values may continue those
  # outside.
  for turn in 0..3 {
    for axis in list(...info.space) {
      (a, b) =
        _chord(x -> (_compared_at(of, _moved_along(p, axis, x))[k] <= 0) == inner, p[axis],
          info.lo[axis] + 0.0, info.hi[axis] + 0.0)
      p[axis] = 0.5 * (a + b)
      wide = wide or b - a > 0.01 * (info.hi[axis] - info.lo[axis])
    }
  }
  for axis in list(...info.space) {
    (lo, hi) = (info.lo[axis] + 0.0, info.hi[axis] + 0.0)
    (a, b) =
      _chord(x -> (_compared_at(of, _moved_along(p, axis, x))[k] <= 0) == inner, p[axis], lo, hi)
    other = other or not _is_continued(x -> _full_at(of, _moved_along(p, axis, x)), a, b, lo, hi)
  }
  wide or other
}
_moved_along(p, axis, x) = {
  y = p
  y[axis] = x
  y
}
# Returns the interval around x in which is_so holds, searched up to a fiftieth
# of the distance from lo to hi on each side.
_chord(is_so, x, lo, hi) = {
  end = (way, last) -> {
    most = min(0.02 * (hi - lo), abs(last - x))
    step = min(1e-12 * (hi - lo), most)
    while step < most and is_so(x + way * step) { step = min(2 * step, most) }
    (inside, outside) = if is_so(x + way * step) { (step, step) } else { (0.0, step) }
    for turn in 0..60 {
      middle = 0.5 * (inside + outside)
      if is_so(x + way * middle) { inside = middle } else { outside = middle }
    }
    x + way * outside
  }
  (end(-1.0, lo), end(1.0, hi))
}

# Searches a regular lattice for a maximum or minimum of whose height the points
# see less than a third.
_peak_hidden(info, of, axes, points, τ) = {
  d = len(info.space)
  across = if d == 2 { 256 } else { 48 }
  n = _spot_points(axes, points)
  lattice = map(a -> info.lo[a] + (info.hi[a] - info.lo[a]) * (f64(iota(across)) + 0.5) / across,
    list(...info.space))
  at = i -> _spot_point(info, lattice, none, τ, i)
  (found, place) = (false, at(0))
  if n < across^d {
    seen = _spot_range(p -> _watched_at(of, p), i -> _spot_point(info, axes, points, τ, i), n)
    all = _spot_range(p -> _watched_at(of, p), at, across^d)
    for k in 0..len(seen.low) {
      (above, below) = (all.high[k] - seen.high[k], seen.low[k] - all.low[k])
      range = all.high[k] - all.low[k]
      if not found and range < inf and max(above, below) > 0.7 * range and
        range > 1e-9 * max(abs(all.high[k]), abs(all.low[k])) {
        i = if above > below { all.highest[k] } else { all.lowest[k] }
        p = at(i)
        top = _watched_at(of, p)[k]
        # It must decay on both sides along each axis; growth towards a boundary
        # or corner does not count.
        ends = true
        for axis in list(...info.space) {
          for way in [-1.0, 1] {
            y = p
            y[axis] = p[axis] + way * (info.hi[axis] - info.lo[axis]) / 16
            ends = ends and y[axis] > info.lo[axis] and y[axis] < info.hi[axis] and
              abs(_watched_at(of, y)[k] - top) > 0.5 * range
          }
        }
        (found, place) = (ends, p)
      }
    }
  }
  (found = found, p = place)
}
# Returns the minimum and maximum of the finite values at places, and the
# places.
_spot_range(c, at, n) = {
  width = len(c(at(0)))
  (low, high) = (zeros(width) + inf, zeros(width) - inf)
  (lowest, highest) = (iota(width) * 0, iota(width) * 0)
  for i in 0..n {
    v = c(at(i))
    for k in 0..width {
      if v[k] < low[k] and v[k] > -inf {
        low[k] = v[k]
        lowest[k] = i
      }
      if v[k] > high[k] and v[k] < inf {
        high[k] = v[k]
        highest[k] = i
      }
    }
  }
  (low = low, high = high, lowest = lowest, highest = highest)
}
