# corner_layers.dsl - singular parts of solutions in time and one space
# coordinate, where a condition on a wall and the beginning contradict each
# other at the corner.
#
# At a wall x = a of u_t = D u_xx + ..., where what holds at t = 0 has another
# value there than the condition on the wall, or another rate by the equation,
# the solution is not smooth, however smooth all data are: its derivatives
# depend on (x - a)/sqrt(D t). To first order its singular part is known: c0
# erfc(η) + c1 4t i²erfc(η), η = |x - a|/sqrt(4 D t), where c0 is the gap of the
# values and c1 that of the rates (Carslaw and Jaeger 1959, 2.4 and 2.5). It is
# faded out by the time at which it would be some times as large as what is
# given, for then it is no layer any more. All of it follows from the statement:
# rates and D from the equations, which are linear in the rates. A method of
# smooth functions looks for the rest.

# The layers of a statement, one for each wall that has one: (begin, at, wall:
# the time, the coordinate of space and its value; D, c0, c1: f64[components]).
# Those whose gaps are rounding are left out. None where the equations are not
# of that kind.
_corner_layers(info) = if not _may_have_layers(info) { list() } else {
  x = info.space[0]
  out = list()
  for side in list(0, 1) {
    (D, c0, c1) = _numbers_or(_layer_of(info, x, side), (1.0, 0.0, 0.0))
    gap = max(abs(c0) + abs(c1) * (info.hi[info.time] - info.lo[info.time]))
    wanted = if _is_fixed(gap) { gap > 1e-6 } else { true }
    if wanted {
      out =
        push(out, (begin = info.lo[info.time], at = x, side = side,
          wall = if side == 0 {
            info.lo[x]
          } else {
            info.hi[x]
          }, D = D, c0 = c0, c1 = c1, until = 4 * _data_size(info) / max(1e-300, max(abs(c1)))))
    }
  }
  out
}
# Where the equations have no value at the corner, as 1/r at r = 0, nothing is
# known of a layer.
_numbers_or(parts, instead) = map((v, c) -> where(abs(v) < inf, v, c), parts, instead)
# The largest value that is given at the beginning and on the walls
_data_size(info) = {
  size = 1e-300
  X = _box_points(info, 1000, 0.31)
  for c in info.conditions {
    if _fixes(info, c) == 0 {
      size =
        max(size, max(abs(map(x -> _value_wanted(info, c, _face(info, c, _list_of(info, x))), X))))
    }
  }
  size
}
_with_layers(info, layers) = if len(layers) == 0 { info } else { (...info, layers = layers) }

# Time and one space coordinate, all fields given at the beginning, and
# equations with first rates and at most second derivatives, one for each
# component
_may_have_layers(info) =
  if len(info.coords) != 2 or info.time < 0 or len(info.space) != 1 { false } else {
    (t, x) = (info.time, info.space[0])
    good = not info.periodic[x]
    for j in info.jets {
      if j[1 + t] > 1 or j[1 + x] > 2 or (j[1 + t] > 0 and j[1 + x] > 0) { good = false }
    }
    for k in each(len(info.fields)) {
      if len(_built_in(info, k, t, 0)) != 1 or not _has_jet(info, k, t, 1) or
        not _has_jet(info, k, x, 2) {
        good = false
      }
    }
    rows = 0
    for q in info.equations { rows = rows + max(1, q.rows) }
    good and rows == _component_count(info)
  }
_has_jet(info, k, axis, order) = {
  found = false
  for j in info.jets { if j[0] == k and j[1 + axis] == order and _axes_of(j) == 1 { found = true } }
  found
}

# (D, c0, c1) of the wall on one side: zeros for fields whose values the wall
# does not fix
_layer_of(info, x, side) = {
  t = info.time
  (a, t0) = (if side == 0 { info.lo[x] } else { info.hi[x] }, info.lo[t])
  place = s -> _replaced(_replaced(list(...info.lo), t, t0 + 0.0 * s), x, s)
  beginning = s -> concat(...map(k -> _value_wanted(info, _built_in(info, k, t, 0)[0], place(s)),
    each(len(info.fields))))
  (b0, (b1, b2)) = _jet(beginning, a + 0.0, (1.0, 0.0))
  # slots at the corner by what holds at the beginning, with these rates
  slots = (rates, curvature) ->
    stack(...map(s -> if s[1 + t] == 1 { rates[s[0]] } else if s[1 + x] ==
      0 { b0[s[0]] } else if s[1 + x] ==
      1 { b1[s[0]] } else { curvature[s[0]] }, _slots(info)))
  corner = stack(...place(a))
  n = _component_count(info)
  rows =
    (rates, curvature) -> _rows_at(info, list(...info.equations), corner, slots(rates, curvature))
  M = _jacobian(r -> rows(r, 2 * b2), zeros(n))
  K = _jacobian(c -> rows(zeros(n), c), 2 * b2)
  D = -linsolve(M, K)
  rates = -linsolve(M, rows(zeros(n), 2 * b2))
  (c0, c1) = (list(), list())
  for k in each(len(info.fields)) {
    first = _first_component(info, k)
    size = max(1, info.sizes[k])
    of = list()
    for c in _built_in(info, k, x, 0) { if c.at.side == side { of = push(of, c) } }
    if len(of) == 0 { c0 = push(c0, zeros(size)); c1 = push(c1, zeros(size)) } else {
      (g0, g1) = jvp(s -> _value_wanted(info, of[0], _replaced(place(a), t, s)), t0 + 0.0, 1.0)
      c0 = push(c0, g0 - b0[first..first + size])
      c1 = push(c1, g1 - rates[first..first + size])
    }
  }
  (diag(D), concat(...c0), concat(...c1))
}

# The singular part at a point: f64[components]
_layers_at(info, xs) = if not has(info, "layers") { zeros(_component_count(info)) } else {
  out = zeros(_component_count(info))
  for l in info.layers {
    T = info.hi[info.time] - l.begin
    # the corner's own limit is taken along t = 0
    s = xs[info.time] - l.begin + 1e-30 * T
    d = if l.wall == info.lo[l.at] { xs[l.at] - l.wall } else { l.wall - xs[l.at] }
    D = abs(l.D) + 1e-30
    η = d / sqrt(4 * D * s)
    E = erfc(η)
    out = out + exp(-(s / l.until)^4) *
      (l.c0 * E + l.c1 * ((s + d^2 / (2 * D)) * E - d * sqrt(s / (π * D)) * exp(-η^2)))
  }
  out
}
