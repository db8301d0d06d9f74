# method_of_lines.dsl - problems in time on a tensor grid by the method of
# lines, and their solutions as functions.
#
# Method: equations and conditions at the nodes (grid_residual.dsl) are
# integrated in time with their exact sparse Jacobian (grid_jacobian.dsl).
#
# The system is explicit where every equation has one time derivative with a
# constant factor (for waves: one that depends only on the place) and all
# conditions are linear in the values along the normal. The values at nodes with
# conditions are then eliminated (grid_elimination.dsl), and a system of
# ordinary differential equations remains. Otherwise IDA solves equations and
# conditions together as a differential-algebraic system.

# ---- time derivatives in equations

# Returns the field of each equation's time derivative. Each equation must have
# exactly one, of its field's order in t and without space derivatives; else the
# list is empty.
_rated(info, S) = {
  out = list()
  fine = true
  for q in info.equations {
    found = 0
    which = 0
    for i in q.jets {
      j = info.jets[i]
      if j[0] < S.count and S.orders[j[0]] > 0 and _jet_time(S, j) >= S.orders[j[0]] {
        found = found + 1
        which = j[0]
        for d in S.T.space { if j[1 + d] > 0 { fine = false } }
      }
    }
    for k in out { if k == which { fine = false } }
    if found != 1 { fine = false }
    out = push(out, which)
  }
  if fine { out } else { list() }
}
# Returns the jet of equation e that is the time derivative of field k.
_rate_of(info, S, e, k) = {
  at = 0
  for i in info.equations[e].jets {
    if info.jets[i][0] == k and _jet_time(S, info.jets[i]) == S.orders[k] { at = i }
  }
  at
}
# Returns what the factor of a time derivative depends on: "nothing", the
# "place", or "more" (t, the unknowns or the derivative itself). The factor of a
# vector must be the same for all components, or it counts as "more".
_rate_changes_by(info, S, e, k) = {
  i = _rate_of(info, S, e, k)
  d = _residual_dependence(info, info.equations[e])
  if info.sizes[k] == 0 {
    if _has_fixed_slope(info, d, i, each(len(info.coords))) { "nothing" } else if
    _has_fixed_slope(info, d, i, _times_of(S)) { "place" } else { "more" }
  } else if _has_fixed_slope(info, d, i, each(len(info.coords))) {
    slope =
      _slope(r -> info.equations[e].residual(_node_coordinates(info, S, 0.1, _some_point(info, S)),
        map(b -> if b == i { r } else { _zero_jets(info)[b] }, each(len(info.jets)))),
        _zero_jets(info)[i])
    if slope == 1 or slope == 3 { "nothing" } else { "more" }
  } else { "more" }
}
# Returns the derivative of an equation with respect to component c of its time
# derivative, at places x; it does not depend on t or the jets.
_rate_slope(info, S, e, k, x, c) =
  jvp(js -> info.equations[e].residual(_node_coordinates(info, S, 0.1, x), js), _zero_jets(info),
    _unit_jet(info, _rate_of(info, S, e, k), c))[1]
# Returns the factors of a time derivative: a number, or f64[P] at all nodes.
_rate_factor(info, S, e, k, by) = if by == "place" {
  map_rows(r -> _rate_slope(info, S, e, k, r.x, 0) + 0.0 * r.x[0], (x = S.T.X))
} else {
  f = _rate_slope(info, S, e, k, _some_point(info, S), 0)
  if rank(f) == 0 { f } else { f[0] }
}

# ---- initial values

# Returns the initial values from the initial conditions, and zero elsewhere. A
# condition may use the parts that earlier ones determine.
_initial(info, S) = {
  U = zeros(S.N)
  t0 = info.lo[S.time]
  for c in info.conditions {
    if c.at.coord == S.time {
      i = _determined(info, S, c)
      k = info.jets[i][0]
      level = _jet_time(S, info.jets[i])
      if level >= S.levels[k] {
        _refuse(
          "the condition `{c.text}` gives the highest time derivative of {info.fields[k]}, which "
          "follows from the equations")
      }
      jets = if _fields_in(info, c) == 1 {
        _wide_zero_jets(info, S)
      } else {
        _jets_on(info, S, U, none)
      }
      none_of = (js, v) -> map(b -> if b == i { 0.0 * js[b] + v } else { js[b] },
        each(len(info.jets)))
      z = _point_residuals(info, S, c, t0, S.T.X, none_of(jets, 0.0))
      one = _point_residuals(info, S, c, t0, S.T.X, none_of(jets, 1.0))
      value = -z / (one - z)
      for r in each(_width(info, k)) {
        at = _first_part(info, S.levels, k, level) + r
        U[at * S.T.P..(at + 1) * S.T.P] = if info.sizes[k] == 0 { value } else { value[.., r] }
      }
    }
  }
  U
}
_wide_zero_jets(info, S) =
  map(j -> if info.sizes[j[0]] == 0 { zeros(S.T.P) } else { zeros(S.T.P, info.sizes[j[0]]) },
    list(...info.jets))
# Returns the jet that an initial condition determines: of those without space
# derivatives the one of highest order in t, of the first field.
_determined(info, S, c) = {
  at = c.jets[0]
  top = -1
  for i in c.jets {
    j = info.jets[i]
    plain = true
    for d in S.T.space { if j[1 + d] > 0 { plain = false } }
    if plain and _jet_time(S, j) > top { top = _jet_time(S, j); at = i }
  }
  at
}

# ---- the method of lines

_solve_grid(info, m, o) = {
  info = _with_plain_starts(info)
  if kind(info.region) != "none" {
    _refuse("{m.name}() serves intervals and boxes; fem() serves regions")
  }
  # Flux differences are of second order, between neighbours.
  m = if _has_jumps(info) and m.name == "fd" {
    _refuse_deep_jumps(info, m.name);
    (...m, order = 2, bends = true)
  } else {
    _refuse_jumps(info, m.name)
    m
  }
  if m.name == "fd" { _refuse_one_end(info, m) }
  S = _structure(info, m)
  if S.time < 0 { _solve_direct(info, m, S, o) } else { _solve_lines(info, m, S, o) }
}

# Refuses conditions at one end only: two-sided differences of second order then
# have solutions that grow from the other end.
_refuse_one_end(info, m) =
  if len(info.coords) == 1 and not info.periodic[0] and _top_by(info, 0) > 1 {
    (low, high) = (false, false)
    for c in info.conditions { if c.at.side == 1 { high = true } else { low = true } }
    if not (low and high) {
      way = if high { "collocation()" } else { "auto()" }
      _refuse(
        "all conditions of {info.name} stand at one end of {info.coords[0]}, and {m.name}() takes "
        "differences from both: {way}, chebyshev() and shooting() go on from there")
    }
  }

_solve_lines(info, m, S, o) = {
  o =
    (...o, atol = _atol_by_sizes(o, max(abs(reshape(_initial(info, S), S.parts, S.T.P)); axis = 1)),
      switches = _clock_of(info))
  conditions = _conditions_of(info, S)
  _check_ways(info, S, conditions)
  rated = _rated(info, S)
  explicit = len(rated) > 0
  for c in conditions { if explicit { explicit = _is_eliminable(info, S, c) } }
  changes = list()
  for (e, k) in enumerate(rated) {
    if explicit { changes = push(changes, _rate_changes_by(info, S, e, k)) }
  }
  # Among algebraic equations waves would be damped, and only some methods solve
  # these.
  placed = _is_of_waves(info) or kind(m.time.implicit) == "none" or m.time.degree != 5
  for by in changes { if by == "more" or (by == "place" and not placed) { explicit = false } }
  stepper = if explicit { _stepper(info, m, S) } else { m.time }
  m = (...m, time = if has(o, "shorter") { (...stepper, shorter = o.shorter) } else { stepper })
  (times, Y, stats) =
    if explicit { _solve_rates(info, m, S, conditions, rated, changes, o) } else {
      _solve_algebraic(info, _with_short_steps(info, m, S, o), S, conditions, o)
    }
  _grid_solution(info, m, S, times, Y, stats, _dense(times, Y, m.time.degree, _asks_all(o.saveat)))
}
# A capacity that depends on t or the unknowns, such as latent heat, may rise
# and fall within a step unseen at its ends. Such problems limit steps to the
# duration divided by this number.
_shortest_capacity = 400
_with_short_steps(info, m, S, o) = if not _has_moving_rates(info, S) { m } else {
  (t0, t1) = _span_of(info, S, o)
  (...m, time = (...m.time, max_step = abs(t1 - t0) / (_shortest_capacity * _shorter(m.time))))
}
# Whether the factor of a time derivative depends on t or an unknown.
_has_moving_rates(info, S) = {
  any = false
  for q in info.equations {
    d = _residual_dependence(info, q)
    for i in q.jets {
      if _jet_time(S, info.jets[i]) > 0 and not _has_fixed_slope(info, d, i, _times_of(S)) {
        any = true
      }
    }
  }
  any
}
# Returns the time stepper. Undamped waves have eigenvalues on the imaginary
# axis, where BDF of orders above 2 is unstable. On a line, where factorisations
# are cheap, Radau IIA takes far fewer steps.
_stepper(info, m, S) = {
  waves = info.type == "hyperbolic" or info.type == "dispersive"
  if not m.chosen and waves and S.T.count == 1 {
    radau5(max_steps = m.time.max_steps)
  } else {
    m.time
  }
}
_span_of(info, S, o) =
  if kind(o.t) == "none" { (info.lo[S.time], info.hi[S.time]) } else { (f64(o.t[0]), f64(o.t[1])) }

_solve_rates(info, m, S, conditions, rated, changes, o) = {
  T = S.T
  stages = _end_stages(info, S, conditions)
  E = if len(stages) == 0 { (free = iota(S.N), whole = true) } else {
    _elimination(S, stages)
  }
  D = (stages = (...stages,), conditions = (...conditions,), free = E.free)
  U0 = _initial(info, S)
  y0 = if len(stages) == 0 { U0 } else { U0[D.free] }
  (t0, t1) = _span_of(info, S, o)
  factors = map(e -> {
    f = _rate_factor(info, S, e, rated[e], changes[e])
    if changes[e] == "place" {
      _of_rates(info, S, D, e, rated[e], f, len(stages) == 0)
    } else {
      -1.0 / f
    }
  }, each(len(rated)))
  equation_of = k -> { at = 0; for (e, f) in enumerate(rated) { if f == k { at = e } }; at }
  rate = (t, y) -> {
    U = _filled(info, S, D, t, y)
    jets = _jets_on(info, S, U, none)
    out = list()
    for k in each(S.count) {
      w = _width(info, k)
      for level in each(1, S.levels[k]) {
        for c in each(w) {
          out = push(out, _part_of(S, U, _first_part(info, S.levels, k, level) + c))
        }
      }
      e = equation_of(k)
      r = factors[e] * _equation_on_grid(info, S, info.equations[e], t, U, none, 0.0, jets)
      for c in each(w) { out = push(out, if info.sizes[k] == 0 { r } else { r[.., c] }) }
    }
    all = concat(...out)
    if len(stages) == 0 { all } else { all[D.free] }
  }
  if _is_explicit_method(m.time) {
    (times, Y, stats) =
      _integrate(m.time, rate, (t, y) -> _rows_jacobian(v -> rate(t, v), y), none, y0, t0, t1, o)
    _with_stages(info, S, D, times, Y, stats)
  } else if _has_jumps(info) {
    (times, Y, stats) =
      _with_jacobian(rate, t0, y0, true, m.time,
        (jac, pattern) -> _integrate(m.time, rate, jac, pattern, y0, t0, t1, o))
    _with_stages(info, S, D, times, Y, stats)
  } else {
    sources = _sources(info, S, rated, list())
    groups = list()
    for g in _groups(info, S, sources) { if not g.rate { groups = push(groups, g) } }
    (rows, columns, there) = _element_places(groups)
    (rows, columns, there) = _with_levels(info, S, rows, columns, there)
    pattern = _reduced(S, E, rows, columns, there)
    extra = len(rows)
    values = (t, y) -> {
      jets = _jets_on(info, S, _filled(info, S, D, t, y), none)
      v = _elements(info, S, sources, groups, t, jets, factors, 0.0)
      all = if extra == len(v) { v } else { concat(v, ones(extra - len(v))) }
      _summed(pattern, _elements_from(pattern, all))
    }
    full = T.dense and T.count == 1
    (times, Y, stats) = if full {
      _integrate(m.time, rate, (t, y) -> reshape(dense(_as_sparse(pattern, values(t, y))), len(y),
        len(y)), none, y0, t0, t1, o)
    } else {
      _integrate(m.time, rate, values, (pattern.column_start, pattern.rows), y0, t0, t1, o)
    }
    _with_stages(info, S, D, times, Y, stats)
  }
}
# Returns -1/f for a factor f of a time derivative; fails where f is zero at a
# node with an equation.
_of_rates(info, S, D, e, k, f, whole) = {
  at = _first_part(info, S.levels, k, S.levels[k] - 1) * S.T.P + iota(S.T.P)
  free = zeros(S.N) + (if whole { 1.0 } else { 0.0 })
  if not whole { free[D.free] = 1.0 }
  bad = findall((f == 0) and (free[at] > 0))
  if len(bad) > 0 {
    error(
      "{info.name}: the factor of the rate in `{info.equations[e].text}` is 0 at "
      "{_place_text(info, S, bad[0])}, where the equation has no rate; bdf() serves this")
  }
  where(f == 0, 0.0, -1.0 / where(f == 0, 1.0, f))
}
_place_text(info, S, node) =
  _listed(map(p -> "{info.coords[S.T.space[p]]} = {S.T.X[p][node]:.4g}", each(S.T.count)))
_is_explicit_method(m) =
  m.name == "tsit5" or m.name == "dop853" or m.name == "rk4" or m.name == "euler"
_with_stages(info, S, D, times, Y, stats) = if len(D.stages) == 0 { (times, Y, stats) } else {
  (times, map_rows(r -> _filled(info, S, D, r.t, r.y), (t = times, y = Y)), stats)
}
# Adds the rows that say that a part is the time derivative of the one before
# it.
_with_levels(info, S, rows, columns, there) = {
  r = list(rows)
  c = list(columns)
  k = list(there)
  P = S.T.P
  for f in each(S.count) {
    for level in each(1, S.levels[f]) {
      for a in each(_width(info, f)) {
        r = push(r, (_first_part(info, S.levels, f, level - 1) + a) * P + iota(P))
        c = push(c, (_first_part(info, S.levels, f, level) + a) * P + iota(P))
        k = push(k, iota(P) >= 0)
      }
    }
  }
  if len(r) == 1 { (rows, columns, there) } else {
    (concat(...r), concat(...c), if kind(there) == "none" { none } else { concat(...k) })
  }
}

# ---- equations and conditions together

# Returns a field that acts as a Lagrange multiplier, and the equation that it
# enforces; -1 and -1 where there is none. Such a field occurs only by its
# gradient in other equations and not in its own, like a pressure that enforces
# zero divergence.
_pressure_of(info) = {
  found = (field = -1, equation = -1)
  if info.time >= 0 {
    held = _constraint_of(info, info.time)
    if held.field >= 0 and held.equation >= 0 {
      found = (field = held.field, equation = held.equation)
    }
  } else if len(info.space) > 1 and info.eigen == "" {
    first = map(k -> false, each(len(info.fields)))
    other = map(k -> false, each(len(info.fields)))
    for q in info.equations {
      for i in q.jets {
        j = info.jets[i]
        o = 0
        for d in info.space { o = o + j[1 + d] }
        if o == 1 { first[j[0]] = true } else { other[j[0]] = true }
      }
    }
    for k in each(len(info.fields)) {
      if first[k] and not other[k] and found.field < 0 {
        eqs = _matched_equations(info, "fem", len(info.fields))
        if _is_multiplier(info, eqs, k, len(info.fields)) { found = (field = k, equation = eqs[k]) }
      }
    }
  }
  found
}

_solve_algebraic(info, m, S, conditions, o) = {
  held = _pressure_of(info)
  if held.field >= 0 {
    _refuse(
      "`{info.equations[held.equation].text}` has no unknown without a rate in it, so that "
      "{info.fields[held.field]} follows only from its time derivative (index 2), and on one grid "
      "for all unknowns has modes that no equation sees: fem() serves "
      "this{if _is_periodic(info) { ", and fourier() where it has constant factors" } else { "" }}")
  }
  matched = _matched(info, S)
  J = _whole_jacobian(info, S, matched, conditions)
  if kind(m.time.implicit) == "none" or m.time.degree != 5 {
    error(
      "{info.name} has an equation without a rate, a rate whose factor depends on t or the "
      "unknowns, or a condition that is not linear with constant factors; bdf() integrates this, "
      "not {m.time.name}()")
  }
  (t0, t1) = _span_of(info, S, o)
  U0 = _initial(info, S)
  id =
    concat(...map(k -> zeros(S.levels[k] * _width(info, k) * S.T.P) +
      (if S.orders[k] == 0 { 0.0 } else { 1.0 }),
      each(S.count)))
  for c in conditions {
    if not c.rate { for rows in _rows_of(S, c) { id[rows] = 0.0 } }
  }
  F = (t, U, V) -> _whole_residual(info, S, matched, conditions, t, U, V)
  jac = (t, U, V, cj) -> J.values(t, U, V, cj, 0.0)
  (times, Y, stats) =
    m.time.implicit(m.time, F, jac, U0, id, t0, t1,
      _integration(U0, (J.pattern.column_start, J.pattern.rows), o))
  whole = _asks_all(o.saveat)
  (times, Y) =
    if whole { e = _to_the_end(times, Y, 5, t1); (e.times, e.values) } else { (times, Y) }
  (times, Y, stats)
}

# ---- solutions as functions

_grid_solution(info, m, S, times, Y, stats, state) = {
  functions = map(k -> _grid_field(info, S, state, k, 0), each(S.count))
  (...record(info.fields, functions), ..._grid_rates(info, S, state), x = S.T.dims[0].x,
    grid = map(g -> g.x, S.T.dims), at = S.T.X, times = times, values = Y, stats = stats,
    method = m.name, kind = "pde", error = if m.order == 0 {
      _series_tail(info, S, Y[-1], Y)
    } else {
      none
    }, info = _info_known(info, S.time, times))
}
_info_of(info) =
  (name = info.name, fields = info.fields, coords = info.coords, lo = info.lo, hi = info.hi)

# Returns the time derivatives in the state as fields, for example u_t of an
# equation for u_tt.
_grid_rates(info, S, state) = {
  (names, functions) = (list(), list())
  for k in each(S.count) {
    for level in each(1, S.levels[k]) {
      names = push(names, _derivative_name(info.fields[k], info.coords[S.time], level))
      functions = push(functions, _grid_field(info, S, state, k, level))
    }
  }
  record(names, functions)
}
# Returns a field as a function of all coordinates: numbers, or arrays that
# broadcast.
_grid_field(info, S, state, k, level) = {
  at_time = t -> {
    U = state(t)
    map(c -> _coefficients(S.T, _part_of(S, U, _first_part(info, S.levels, k, level) + c)),
      (...(0.._width(info, k)),))
  }
  value = (coefs, x) -> {
    all = map(c -> _values_at(S.T, c, x), coefs)
    if info.sizes[k] == 0 { all[0] } else { stack(...all; axis = rank(all[0])) }
  }
  (...point) -> {
    if len(point) != len(info.coords) {
      _refuse("{info.fields[k]} is a function of ({join(info.coords, ", ")})")
    }
    t = f64(point[S.time])
    x = map(i -> f64(point[i]), S.T.space)
    if rank(t) == 0 { value(at_time(t), x) } else {
      one = true
      for v in x { if rank(v) > 0 { one = false } }
      if one {
        flat = map(s -> value(at_time(s), x), ravel(t))
        if info.sizes[k] == 0 {
          reshape(flat, ...shape(t))
        } else {
          reshape(flat, ...shape(t), info.sizes[k])
        }
      } else {
        both = t
        for v in x { both = both + 0.0 * v }
        flat = map_rows(r -> value(at_time(r.t), r.x),
          (t = ravel(both), x = map(v -> ravel(v + 0.0 * both), x)))
        if info.sizes[k] == 0 {
          reshape(flat, ...shape(both))
        } else {
          reshape(flat, ...shape(both), info.sizes[k])
        }
      }
    }
  }
}
