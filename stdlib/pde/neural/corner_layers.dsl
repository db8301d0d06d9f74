# corner_layers.dsl - singular parts of solutions in time and one space
# coordinate, where initial and boundary values are inconsistent at a corner.
#
# At a boundary x = a of u_t = D u_xx + ..., the initial values may contradict
# the boundary condition, in value or by the equation in rate. The solution is
# then not smooth, however smooth the data are: its derivatives depend on (x -
# a)/sqrt(D t).
#
# Method: to first order the singular part is c0 erfc(η) + c1 4t i²erfc(η) with
# η = |x - a|/sqrt(4 D t) (Carslaw and Jaeger 1959, 2.4 and 2.5). c0 is the gap
# of the values and c1 that of the rates. It is faded out by the time at which
# it would exceed the data several times, when it is no longer a layer. Rates
# and D follow from the equations, which are linear in the rates. A method for
# smooth functions solves for the remainder.

# Returns the layers of a problem, one for each boundary that has one: begin,
# the initial time; at, side and wall: the space coordinate, the side and its
# value; D, c0, c1: f64[components]; until: the time of fading. Layers whose
# gaps are rounding are omitted. The list is empty where the equations are of
# another kind.
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
# Replaces values that are not finite: where the equations have no value at the
# corner, such as 1/r at r = 0, no layer is known.
_numbers_or(parts, instead) = map((v, c) -> where(abs(v) < inf, v, c), parts, instead)
# Returns the largest initial or boundary value.
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

# Whether the problem has time and one space coordinate, initial values of all
# fields, and equations with first rates and at most second derivatives, one for
# each component.
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

# Returns (D, c0, c1) of the boundary on one side: zeros for fields whose values
# it does not fix.
_layer_of(info, x, side) = {
  t = info.time
  (a, t0) = (if side == 0 { info.lo[x] } else { info.hi[x] }, info.lo[t])
  place = s -> _replaced(_replaced(list(...info.lo), t, t0 + 0.0 * s), x, s)
  beginning = s -> concat(...map(k -> _value_wanted(info, _built_in(info, k, t, 0)[0], place(s)),
    each(len(info.fields))))
  (b0, (b1, b2)) = _jet(beginning, a + 0.0, (1.0, 0.0))
  # Slots at the corner by the initial values, with these rates.
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

# Returns the singular part at a point: f64[components].
_layers_at(info, xs) = if not has(info, "layers") { zeros(_component_count(info)) } else {
  out = zeros(_component_count(info))
  for l in info.layers {
    T = info.hi[info.time] - l.begin
    # The corner's own limit is taken along t = 0.
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
