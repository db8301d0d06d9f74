# pinn_ansatz.dsl - the ansatz of a PINN: conditions built into the function
# that a network defines.
#
# Method: u = G + D N for the network N (Lagaris, Likas and Fotiadis 1998). The
# blend G takes the prescribed values: on boxes by transfinite interpolation
# (Gordon and Hall 1973). The product D vanishes where they are prescribed.
# Values that disagree at edges and corners are not built in.
#
# xs is the list of the coordinates of a point.

# ---- conditions that can be built in

_time_axis(info) = { a = -1; for (k, n) in enumerate(info.coords) { if n == "t" { a = k } }; a }

# Returns 0 if a condition fixes the value of a field on a face, 1 if it fixes
# an initial rate, -1 if it cannot be built in.
_fixes(info, c) = if len(c.jets) != 1 or c.at.coord < 0 or c.at.side < 0 { -1 } else {
  j = info.jets[c.jets[0]]
  r =
    c.residual(_coordinates(info, stack(...info.lo)), _jets_in(info, zeros(_slot_starts(info)[-1])))
  if rank(r) != (if info.sizes[j[0]] == 0 { 0 } else { 1 }) or info.periodic[c.at.coord] or
    not _says_each(info, c, len(ravel(r))) {
    -1
  } else if _axes_of(j) == 0 {
    0
  } else {
    if _axes_of(j) == 1 and c.at.coord == _time_axis(info) and j[1 + c.at.coord] == 1 and
      c.at.side == 0 {
      1
    } else {
      -1
    }
  }
}
# Whether each row of a condition is proven affine in its own component of the
# jet, and thus determines it. The proof treats the components of a vector as
# one value: it shows that rows are affine with slopes that do not depend on the
# place. So the matrix of slopes at one place is the matrix at all.
_says_each(info, c, rows) = {
  starts = _slot_starts(info)
  (first, n) = (starts[c.jets[0]], starts[c.jets[0] + 1] - starts[c.jets[0]])
  f = (x, v) -> _rows_at(info, list(c), x, v)
  if rows != n { false } else {
    told = _dependence(f, zeros(len(info.coords)), zeros(starts[-1]))
    if told.factors[1][1] or (n > 1 and told.factors[1][0]) { false } else if n == 1 { true } else {
      x = stack(...map(a -> a + 0.0, list(...info.lo)))
      slots = iota(starts[-1])
      mixed = _now(() -> {
        slopes = map(k -> f(x, where(slots == first + k, 1.0, 0.0)) - f(x, 0.0 * slots), iota(n))
        sum(abs(slopes * (1 - eye(n))))
      })
      if _is_fixed(mixed) { mixed == 0 } else {
        # The matrix depends on parameters, but the shape of the network must be
        # known at specialisation time: require one component each.
        if mixed > 0 {
          error(
            "pinn() would build `{c.text}` into its network, which takes conditions for one "
            "component each: pinn(hard = false) does not")
        }
        true
      }
    }
  }
}
# Returns the conditions of a field on an axis that can be built in.
_built_in(info, k, axis, what) = {
  out = list()
  for c in info.conditions {
    if _fixes(info, c) == what and c.at.coord == axis and info.jets[c.jets[0]][0] == k {
      out = push(out, c)
    }
  }
  out
}
# Returns the axes with time first: the blend on later axes is corrected by that
# of earlier ones.
_axis_order(info) = {
  t = _time_axis(info)
  out = if t >= 0 { list(t) } else { list() }
  for k in each(len(info.coords)) { if k != t { out = push(out, k) } }
  out
}
_face(info, c, xs) =
  _replaced(xs, c.at.coord, if c.at.side == 0 { info.lo[c.at.coord] } else { info.hi[c.at.coord] })

# ---- the blend

# Returns the value that a condition prescribes for its jet at a point:
# f64[components of the field].
_value_wanted(info, c, xs) = {
  (starts, i) = (_slot_starts(info), c.jets[0])
  zero = zeros(starts[-1])
  one = concat(zeros(starts[i]), ones(starts[i + 1] - starts[i]), zeros(starts[-1] - starts[i + 1]))
  z = _rows_at(info, list(c), stack(...xs), zero)
  -z / (_rows_at(info, list(c), stack(...xs), one) - z)
}
# Returns the same for the smooth part of a solution.
_smooth_value_wanted(info, c, xs) = if not has(info, "layers") { _value_wanted(info, c, xs) } else {
  k = info.jets[c.jets[0]][0]
  first = _first_component(info, k)
  _value_wanted(info, c, xs) - _layers_at(info, xs)[first..first + max(1, info.sizes[k])]
}

# Returns the blend (transfinite interpolation) of the values prescribed for
# field k on the first n axes in order: f64[components of the field].
_blend(info, k, xs, n) = if n == 0 { zeros(max(1, info.sizes[k])) } else {
  axis = _axis_order(info)[n - 1]
  below = _blend(info, k, xs, n - 1)
  sides = _built_in(info, k, axis, 0)
  rates = _built_in(info, k, axis, 1)
  out = below
  (a, b) = (info.lo[axis], info.hi[axis])
  for c in sides {
    share = if len(sides) == 1 {
      1.0
    } else if c.at.side == 0 {
      (b - xs[axis]) / (b - a)
    } else {
      (xs[axis] - a) / (b - a)
    }
    out = out + share * (_smooth_value_wanted(info, c, _face(info, c, xs)) -
      _blend(info, k, _face(info, c, xs), n - 1))
  }
  for c in rates { out = out + (xs[axis] - a) * _value_wanted(info, c, _face(info, c, xs)) }
  out
}
# Returns a product that vanishes where values are built in.
_vanishing(info, k, xs) = {
  f = 1.0
  for axis in each(len(xs)) {
    (a, b) = (info.lo[axis], info.hi[axis])
    sides = _built_in(info, k, axis, 0)
    s = (xs[axis] - a) / (b - a)
    for c in sides { f = f * (if c.at.side == 0 { s } else { 1 - s }) }
    if len(sides) == 2 { f = 4 * f }
    if len(_built_in(info, k, axis, 1)) > 0 { f = f * s }
  }
  f
}
_some_built_in(info, k) = {
  n = 0
  for axis in each(len(info.coords)) { n = n + len(_built_in(info, k, axis, 0)) }
  n > 0
}

# Returns 1.0 where the prescribed values agree at edges and corners and fit
# periodic axes, else 0.0.
_can_build_in(info) = {
  worst = 0.0
  X = _box_points(info, 1000, 0.31)
  d = len(info.coords)
  for k in each(len(info.fields)) {
    if _some_built_in(info, k) {
      G = x -> _blend(info, k, _list_of(info, x), d)
      size = 1 + max(abs(map(G, X)))
      for axis in each(d) {
        for c in _built_in(info, k, axis, 0) {
          gap = map(x -> {
            xs = _face(info, c, _list_of(info, x));
            _blend(info, k, xs, d) - _smooth_value_wanted(info, c, xs)
          },
            X)
          worst = max(worst, max(abs(gap)) / size)
        }
        if info.periodic[axis] {
          jump = x -> {
            at = s -> jvp(y -> _blend(info, k, _replaced(_list_of(info, x), axis, y), d), s, 1.0)
            ((g0, d0), (g1, d1)) = (at(info.lo[axis]), at(info.hi[axis]))
            concat(g1 - g0, (info.hi[axis] - info.lo[axis]) * (d1 - d0))
          }
          worst = max(worst, max(abs(map(jump, X))) / size)
        }
      }
    }
  }
  if worst < 1e-6 { 1.0 } else { 0.0 }
}
_list_of(info, x) = map(k -> x[k], each(len(info.coords)))

# ---- the ansatz

# Returns (never, h): h = 1.0 when conditions are built into the ansatz, 0.0
# when they do not agree and are residual rows. A blend over n axes evaluates
# conditions 3^n times at a point, for each derivative too, so with more than 4
# axes conditions are rows.
_building_in(info, m) = {
  (n, most) = (0, 0)
  for k in each(len(info.fields)) {
    n = n + (if _some_built_in(info, k) { 1 } else { 0 })
    axes = 0
    for axis in each(len(info.coords)) {
      axes = axes + (if len(_built_in(info, k, axis, 0)) > 0 { 1 } else { 0 })
    }
    most = max(most, axes)
  }
  asked = if kind(m.hard) == "string" { false } else { m.hard }
  if asked and most > 4 {
    _refuse(
      "pinn(hard = true) builds conditions in along 4 coordinates at most, and here are conditions "
      "along {most}; without hard they are rows of their own")
  }
  never = if kind(m.hard) == "string" { n == 0 or most > 4 } else { not m.hard or n == 0 }
  (never, if never { 0.0 } else if kind(m.hard) == "string" { _can_build_in(info) } else { 1.0 })
}
# Returns the solution as a function of weights and coordinates:
# f64[components].
_ansatz(info, m, B, never, h) = (w, xs) -> {
  y = _network_at(info, m, w, B, xs)
  smooth = if never { y } else {
    parts = list()
    for k in each(len(info.fields)) {
      first = _first_component(info, k)
      own = y[first..first + max(1, info.sizes[k])]
      parts = push(parts, if _some_built_in(info, k) {
        h * _blend(info, k, xs, len(xs)) + (1 - h + h * _vanishing(info, k, xs)) * own
      } else {
        own
      })
    }
    concat(...parts)
  }
  if has(info, "layers") { smooth + _layers_at(info, xs) } else { smooth }
}
