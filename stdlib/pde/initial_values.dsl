# initial_values.dsl - the initial state that conditions at the ends of t
# determine.
#
# Methods that step in t need, for each field and each of its time derivatives
# below its order, a condition that gives it at the initial time. A problem may
# give these jointly (several in one condition), or at the final time.

# ---- at the initial time

# Returns the problem with one initial condition for each part of the state that
# its initial conditions determine. It changes nothing unless a condition
# determines several parts, or one implicitly. Undetermined parts stay without a
# condition.
_with_plain_starts(info) = {
  plain = true
  (starts, others) = (list(), list())
  for c in info.conditions {
    if info.time >= 0 and c.at.coord == info.time {
      starts = push(starts, c)
      plain = plain and _is_plain_start(info, c)
    } else { others = push(others, c) }
  }
  if plain { info } else { (...info, conditions = (...others, ..._told_states(info, starts))) }
}
_is_plain_start(info, c) = if len(c.jets) != 1 { false } else {
  i = c.jets[0]
  n = len(info.coords)
  _is_state(info, i) and c.rows == info.sizes[info.jets[i][0]] and
    not _residual_dependence(info, c).factors[n + i][n + i]
}
# Whether jet i is a part of the state: a field, or a time derivative of it
# below its order.
_is_state(info, i) =
  _space_order(info, i) == 0 and info.jets[i][1 + info.time] <
  max(1, _order_of(info, info.jets[i][0], info.time))
_space_order(info, i) = {
  order = 0
  for d in list(...info.space) { order = order + info.jets[i][1 + d] }
  order
}
# Solves the conditions in the order in which they become solvable: first those
# with one unknown part, then jointly all whose space derivatives are known.
_told_states(info, starts) = {
  for c in starts {
    for i in c.jets {
      j = info.jets[i]
      if j[1 + info.time] >= max(1, _order_of(info, j[0], info.time)) {
        _refuse(
          "the condition `{c.text}` gives the highest time derivative of {info.fields[j[0]]}, "
          "which follows from the equations")
      }
    }
  }
  (known, told, used) = (list(), list(), list())
  for turn in each(2 * len(starts)) {
    (single, together) = (list(), list())
    for (a, c) in enumerate(starts) {
      if not contains(used, a) and _slopes_are_known(info, c, known) {
        together = push(together, a)
        own = _unknown_states(info, c, known)
        if len(single) == 0 and len(own) == 1 {
          if c.rows == info.sizes[info.jets[own[0]][0]] { single = push(single, a) }
        }
      }
    }
    now = if len(single) > 0 { single } else { together }
    if len(now) > 0 {
      solved = _solved_states(info, map(a -> starts[a], now), known, told)
      for a in now { used = push(used, a) }
      for (i, f) in solved { known = push(known, i); told = push(told, f) }
    }
  }
  for (a, c) in enumerate(starts) {
    if not contains(used, a) {
      _refuse(
        "`{c.text}` gives a derivative in space of what no condition at the beginning gives "
        "itself: write the value, as u == f(x)")
    }
  }
  map((i, f) -> (residual = (X, jets) -> jets[i] - f(X), jets = (i,), linear = (i,), nonlinear = (),
    at = (coord = info.time, side = 0, value = info.lo[info.time], name = "", point = none),
    rows = info.sizes[info.jets[i][0]], terms = none, fluxes = (), by_fluxes = none,
    text = "{_state_name(info, info.jets[i][0], info.jets[i][1 + info.time], info.time)} as the "
    "conditions at the beginning say"),
    known, told)
}
_slopes_are_known(info, c, known) = {
  fine = true
  for i in c.jets {
    if _space_order(info, i) > 0 { fine = fine and _place_of_state(info, i, known) >= 0 }
  }
  fine
}
_unknown_states(info, c, known) = {
  out = list()
  for i in c.jets {
    if _space_order(info, i) == 0 and _place_of_state(info, i, known) < 0 { out = push(out, i) }
  }
  out
}
# Returns the index of the known state that jet i is, or is a space derivative
# of; -1 where there is none.
_place_of_state(info, i, known) = {
  at = -1
  (j, t) = (info.jets[i], 1 + info.time)
  for (a, k) in enumerate(known) {
    if info.jets[k][0] == j[0] and info.jets[k][t] == j[t] { at = a }
  }
  at
}
# Solves conditions jointly for the states they determine. Returns pairs (index
# of the jet, its value as a function of a point).
_solved_states(info, of, known, told) = {
  n = len(info.coords)
  unknown = list()
  rows = 0
  for c in of {
    rows = rows + max(1, c.rows)
    for i in _unknown_states(info, c, known) {
      if not contains(unknown, i) { unknown = push(unknown, i) }
    }
  }
  (first, total) = (list(), 0)
  for i in unknown {
    first = push(first, total);
    total = total + max(1, info.sizes[info.jets[i][0]])
  }
  texts = _listed(map(c -> "`{c.text}`", of))
  if rows != total {
    state(i) = _state_name(info, info.jets[i][0], info.jets[i][1 + info.time], info.time)
    _refuse(
      "{texts}: of {_listed(map(state, unknown))} at the beginning there are {total} numbers to be "
      "told, and {rows} conditions")
  }
  for c in of {
    d = _residual_dependence(info, c).factors
    for i in unknown {
      for k in unknown {
        if d[n + i][n + k] {
          _refuse(
            "{texts}: what is to be told at the beginning stands in it not linearly, and may have "
            "several values: write which, as u == f(x)")
        }
      }
    }
  }
  part = (z, a) -> if info.sizes[info.jets[unknown[a]][0]] == 0 {
    z[first[a]]
  } else {
    z[first[a]..first[a] + info.sizes[info.jets[unknown[a]][0]]]
  }
  zero = _zero_jets(info)
  # The residual of the conditions at a point where the unknown states have the
  # values z.
  left = (X, z) -> {
    jets = map(i -> {
      own = -1
      for (a, k) in enumerate(unknown) { if k == i { own = a } }
      at = _place_of_state(info, i, known)
      if own >= 0 {
        part(z, own)
      } else if at >= 0 {
        _derived_in_space(info, told[at], i)(X)
      } else {
        zero[i]
      }
    }, each(len(info.jets)))
    concat(...map(c -> ravel(0.0 + c.residual(X, jets)), of))
  }
  z = X -> {
    r = left(X, zeros(total))
    if total == 1 {
      -r / (left(X, ones(1)) - r)
    } else {
      -linsolve(jacobian(z -> left(X, z))(zeros(total)), r)
    }
  }
  map((i, a) -> (i, X -> part(z(X), a)), unknown, each(len(unknown)))
}
# Returns the space derivative that jet i is of a state f(X).
_derived_in_space(info, f, i) = {
  g = f
  for d in list(...info.space) {
    for turn in each(info.jets[i][1 + d]) { g = _slope_along(g, d, len(info.coords)) }
  }
  g
}
_slope_along(f, d, n) =
  X -> jvp(x -> f((...map(k -> if k == d { x } else { X[k] }, each(n)),)), X[d], 1.0)[1]

# ---- at the final time

# Returns the ends of t at which the problem has conditions: "", "beginning",
# "end" or "both".
_ends_told(info) = {
  (first, last) = (false, false)
  for c in info.conditions {
    if info.time >= 0 and c.at.coord == info.time {
      if c.at.side == 1 { last = true } else { first = true }
    }
  }
  if first and last { "both" } else if last { "end" } else if first { "beginning" } else { "" }
}
# Returns the problem with s = lo + hi - t in place of t, for methods that step
# forward from the initial time. Time derivatives of odd order change sign.
_turned_in_time(info) = {
  a = info.time
  odd = list()
  for (i, j) in enumerate(info.jets) { if j[1 + a] % 2 == 1 { odd = push(odd, i) } }
  turn = f -> (X, jets, ...more) ->
    f((...map(k -> if k == a { info.lo[a] + info.hi[a] - X[k] } else { X[k] },
      each(len(info.coords))),),
      map(i -> if contains(odd, i) { -jets[i] } else { jets[i] }, each(len(info.jets))), ...more)
  term = t -> (...t, f = turn(t.f), factor = if t.coord == a { -t.factor } else { t.factor })
  equations = map(q -> (...q, residual = turn(q.residual), terms = map(term, q.terms)),
    info.equations)
  conditions = map(c -> (...c, residual = turn(c.residual), at = if c.at.coord != a { c.at } else {
    (...c.at, side = 1 - c.at.side, value = info.lo[a] + info.hi[a] - c.at.value)
  }), info.conditions)
  (...info, equations = equations, conditions = conditions)
}
# Maps a solution of the time-reversed problem back to the original problem.
_turned_back(info, s) = {
  a = info.time
  back = t -> info.lo[a] + info.hi[a] - t
  of = u -> (...X) -> if len(X) == 0 { u() } else {
    u(...map(k -> if k == a { back(X[k]) } else { X[k] }, (...(0..len(info.coords)),)))
  }
  (names, functions) = (list(...info.fields), map(f -> of(field(s, f)), list(...info.fields)))
  for k in each(len(info.fields)) {
    for level in each(1, 5) {
      rate = _state_name(info, k, level, a)
      if has(s, rate) {
        u = of(field(s, rate))
        names = push(names, rate)
        functions = push(functions, if level % 2 == 0 { u } else { (...X) -> -u(...X) })
      }
    }
  }
  s = (...s,
    info = (...s.info, ..._info_known(info, a, stack(back(s.info.lo[a]), back(s.info.hi[a])))))
  s = (...s, ...record(names, functions))
  told = (...s, ..._named_fields(info, s, 0.0))
  if len(s.times) == 0 { told } else {
    last = len(s.times) - 1 - iota(len(s.times))
    (...told, times = back(s.times[last]), values = s.values[last] * _signs_turned(info, s))
  }
}
# Returns the sign of each part of the state under time reversal: derivatives of
# odd order change sign.
_signs_turned(info, s) = {
  signs = zeros(0)
  # An explicit system in t alone has no state for fields without a time
  # derivative.
  own = if len(info.space) == 0 {
    _structure_of(info).orders
  } else {
    map(k -> 0, each(len(info.fields)))
  }
  there = 0
  for k in each(len(info.fields)) { there = there + own[k] * max(1, info.sizes[k]) }
  explicit = len(info.space) == 0 and there == shape(s.values)[1]
  for k in each(len(info.fields)) {
    for level in each(if explicit { own[k] } else { max(1, _order_of(info, k, info.time)) }) {
      signs = concat(signs, (if level % 2 == 0 { 1.0 } else { -1.0 }) * ones(max(1, info.sizes[k])))
    }
  }
  n = shape(s.values)[1] // len(signs)
  if n * len(signs) == shape(s.values)[1] { repeat(signs, n) } else { 1.0 }
}

# Returns the problem and the options for a method m that steps forward in t;
# turned: whether time was reversed, so that the solution must be mapped back.
_as_gone_through(info, m, o) = {
  if not _begins_at_end(info) or
    not (if len(info.space) == 0 { has(m, "integrate") } else { _goes_on(m) }) {
    (info = info, o = o, turned = false)
  } else {
    if len(info.events) > 0 {
      _refuse(
        "events are for problems that go on from their beginning, and the conditions of "
        "{info.name} stand at the end of {info.coords[info.time]}: with s = "
        "{info.coords[info.time]}_end - {info.coords[info.time]} in its place, and the signs of "
        "rates changed, they stand at the beginning")
    }
    if _has_jumps(info) {
      _refuse(
        "{m.name}() goes on from the beginning of {info.coords[info.time]}, and the conditions of "
        "{info.name} stand at its end: with s = {info.coords[info.time]}_end - "
        "{info.coords[info.time]} in its place, and the signs of rates changed, they stand at the "
        "beginning")
    }
    back = t -> info.lo[info.time] + info.hi[info.time] - t
    span = if kind(o.t) == "none" {
      none
    } else {
      (back(f64(max(o.t[0], o.t[1]))), back(f64(min(o.t[0], o.t[1]))))
    }
    wanted = if _asks_all(o.saveat) { o.saveat } else { sort(back(f64(o.saveat))) }
    (info = _turned_in_time(info), o = (...o, t = span, saveat = wanted), turned = true)
  }
}
# Whether all conditions on t are at its end.
_begins_at_end(info) = info.eigen == "" and _ends_told(info) == "end"
_goes_on(m) = has(m, "grid") or m.name == "fv" or m.name == "fem"
# With conditions at both ends, t is treated as a space coordinate, for these
# methods and where none is given. A t without other coordinates is so treated
# by all methods that take space coordinates, and in eigenproblems.
_with_ends_alike(info, m) = {
  goes_on = if kind(m) == "none" { true } else { _goes_on(m) }
  alone = info.time >= 0 and len(info.space) == 0 and len(info.events) == 0 and
    (if kind(m) == "none" {
      info.eigen != ""
    } else { _goes_on(m) and m.name != "fv" })
  if alone or (goes_on and _ends_told(info) == "both" and len(info.space) > 0) {
    (...info, time = -1, space = (...(0..len(info.coords)),))
  } else { info }
}
