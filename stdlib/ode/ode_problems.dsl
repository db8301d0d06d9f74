# ode_problems.dsl - problems whose only coordinate is t: reduction of equations
# of any order, with or without algebraic ones, to a system for an integrator.
#
# The state has every field with its derivatives below the highest. There are
# three cases:
#   1  Every field has a time derivative and the equations are linear in the
#      highest derivatives: y' = f(t, y), where these solve a linear system
#      (trivial if each equation is u_t.. == something).
#   2  A field has no time derivative, or the highest derivatives enter
#      nonlinearly, or their matrix is singular initially and either constant or
#      without some columns: F(t, y, y') == 0 of index 1, for a method with
#      `implicit`.
#   3  The equations must be differentiated before they determine the highest
#      derivatives (index 2 and more). Structural analysis determines how often
#      (parser/problem/structural_index.c; Pryce, BIT 41 (2001) 364). The result
#      is y' = f(t, y) on the set where the equations and their derivatives
#      hold, h(t, y) = 0. The term -γ H' (H H')⁻¹ h with H = h_y stabilises it
#      (Ascher, Chin and Reich, Numer. Math. 67 (1994) 131).

# ---- states

# The fields of a state vector: a list of scalars (fields without a size) and
# vectors.
_split(v, sizes) = {
  out = list()
  at = 0
  for n in sizes {
    if n == 0 { out = push(out, v[at]) } else { out = push(out, v[at..at + n]) }
    at = at + max(1, n)
  }
  out
}
_join(fields) = concat(...fields)

# For each field the list of its derivatives 0..orders[k] - 1 from a state
# vector; and the inverse.
_parts(v, sizes, orders) = {
  out = list()
  at = 0
  for (k, n) in enumerate(sizes) {
    own = list()
    for j in each(orders[k]) {
      own = push(own, if n == 0 { v[at] } else { v[at..at + n] })
      at = at + max(1, n)
    }
    out = push(out, own)
  }
  out
}
_state(parts) = {
  all = list()
  for own in parts { for x in own { all = push(all, x) } }
  concat(...all)
}
# Each field's derivatives with the highest one appended.
_with_highest(parts, highest) = map(k -> push(parts[k], highest[k]), each(len(parts)))

# The arguments of a function on jet space. Derivatives that are not there are
# 0.
_jets_of(info, all) =
  map(j -> if j[1] < len(all[j[0]]) { all[j[0]][j[1]] } else { 0.0 * all[j[0]][0] },
    list(...info.jets))

_order_of(info, field, coordinate) = {
  o = 0
  for q in info.equations {
    for k in q.jets { if info.jets[k][0] == field { o = max(o, info.jets[k][1 + coordinate]) } }
  }
  o
}

# Equation i differentiated p times with respect to t, as a function of t and
# the list of lists of all derivatives of all fields. The next derivative after
# the highest is 0.
_equation(info, i, p) = {
  F = (t, all) -> info.equations[i].residual((t,), _jets_of(info, all))
  for k in each(p) { F = _total_rate(F) }
  F
}
_total_rate(F) =
  (t, all) -> jvp(x -> F(x[0], x[1]), (t, all),
    (1.0, map(own -> push(own[1..], 0.0 * own[0]), all)))[1]

# ---- initial values

# For each field its derivatives below orders[k] at the start, from the
# conditions. Each condition gives one of them, or all together determine them.
# Those without a condition are 0.
_start_parts(info, orders) = {
  t0 = info.lo[0]
  zero =
    map(k -> map(j -> if info.sizes[k] == 0 { 0.0 } else { zeros(info.sizes[k]) }, each(orders[k])),
      each(len(orders)))
  nought = _split(_flat_zero(info), info.sizes)
  simple = true
  for c in info.conditions { if len(c.jets) != 1 { simple = false } }
  if simple {
    _refuse_told_twice(info)
    out = zero
    for c in info.conditions {
      (k, j) = info.jets[c.jets[0]]
      # a guess for a field that is not part of the state is ignored
      if j < len(zero[k]) {
        z = c.residual((t0,), _jets_of(info, _with_highest(zero, nought)))
        slope = c.residual((t0,),
          _jets_of(info, map(own -> map(v -> v + 1, own), _with_highest(zero, nought)))) - z
        own = out[k]
        own[j] = 0.0 - z / slope
        out[k] = own
      }
    }
    out
  } else {
    equations =
      y -> _join(
        map(c -> c.residual((t0,),
          _jets_of(info, _with_highest(_parts(y, info.sizes, orders), nought))),
          list(...info.conditions)))
    _parts(root(equations, _state(zero)), info.sizes, orders)
  }
}

# One of them would be lost, and its value would be 0.
_refuse_told_twice(info) = {
  for (a, c) in enumerate(info.conditions) {
    for b in info.conditions[..a] {
      (k, j) = info.jets[c.jets[0]]
      if b.jets[0] == c.jets[0] and c.rows == info.sizes[k] and b.rows == info.sizes[k] {
        _refuse(
          "`{b.text}` and `{c.text}` of {info.name} both give {_state_name(info, k, j, 0)}, and "
          "one of them would be lost")
      }
    }
  }
}

# ---- the system

# The solution with its error (time_error.dsl), unless o.estimate is false.
_solve_ode(info, m, o) = {
  o = (...o, atol = if kind(o.atol) == "none" { _atol_by_start(info, o.rtol) } else { f64(o.atol) })
  (s, state) = _solve_in_time(info, m, o)
  _check_rows(_known_start(info), s.times, s.values, o)
  if not _wants_error(o) { (...s, error = none) } else {
    again = (m, o, at) -> {
      (second, state) = _solve_in_time(info, m, (...o, saveat = at))
      # with events there are no rows for requested times after the end
      if len(info.events) > 0 or o.partial { map(state, at) } else { second.values }
    }
    jumps = len(info.events) > 0 or o.partial or _switches_by_clock(info)
    own = _places_of_fields(info, shape(s.values)[1])
    span = if kind(o.t) == "none" { (info.lo[0], info.hi[0]) } else { o.t }
    _judged_in_time(info, s, _error_in_time(m, (...o, t = span), s, state, jumps, own, again), o)
  }
}
# The positions of the fields themselves, not their derivatives, in a state of
# this size. The state of an implicit system has all fields, that of an explicit
# one those with a rate.
_places_of_fields(info, count) = {
  explicit = _structure_of(info).orders
  n = 0
  for k in each(len(explicit)) { n = n + explicit[k] * max(1, info.sizes[k]) }
  out = zeros(0)
  at = 0
  for k in each(len(explicit)) {
    order = if n == count { explicit[k] } else { max(1, _order_of(info, k, 0)) }
    width = max(1, info.sizes[k])
    if order > 0 { out = concat(out, f64(at + iota(width))) }
    at = at + order * width
  }
  i64(out)
}
_wants_error(o) = if has(o, "estimate") {
  if kind(o.estimate) == "none" { true } else { o.estimate }
} else {
  false
}
# The initial values from the conditions; nothing if they do not suffice, which
# the method itself reports.
_known_start(info) = {
  if len(info.coords) != 1 or _is_between(info) {
    zeros(1)
  } else {
    _state(_start_parts(info, map(k -> max(1, _order_of(info, k, 0)), each(len(info.sizes)))))
  }
}
_atol_by_start(info, rtol) = { y = _known_start(info); _atol_by(1e-8, rtol, y, none, 0.0) }
# The solution, and its state as a function of t.
_solve_in_time(info, m, o) = {
  if len(info.coords) != 1 {
    _refuse("{m.name}() solves problems in t only; {info.name} also has {info.coords[1]}")
  }
  _refuse_loop(info, m)
  _refuse_jumps(info, m.name)
  S = _structure_of(info)
  if S.left >= 0 {
    _refuse(
      "the equations of {info.name} do not determine every unknown: "
      "`{info.equations[S.left].text}` has no unknown that another equation does not need")
  }
  if _is_between(info) {
    _refuse(
      "{info.name} has conditions at the end of {info.coords[0]}: {m.name}() starts from initial "
      "values; collocation() and shooting() solve boundary value problems")
  }
  differentiated = false
  algebraic = false
  for c in S.turns { if c > 0 { differentiated = true } }
  for d in S.orders { if d == 0 { algebraic = true } }
  tspan = if kind(o.t) == "none" { (info.lo[0], info.hi[0]) } else { (f64(o.t[0]), f64(o.t[1])) }
  linear = _is_linear_in_highest(info, S)
  if differentiated and not linear {
    _refuse(
      "{info.name} must be differentiated (its index is above 1), and its highest derivatives do "
      "not enter linearly")
  }
  # An algebraic equation that is linear in its unknown fits both forms. With
  # events it is solved for, because y' is then available at the events.
  if differentiated or
    (linear and (not algebraic or kind(m.implicit) == "none" or len(info.events) > 0)) {
    _solve_explicit(info, m, o, S, tspan, differentiated)
  } else {
    if kind(m.implicit) == "none" {
      _refuse(
        "{m.name}() wants every time derivative by itself, as in u_t == ...: solve {info.name} "
        "with bdf(), which takes it as it is written")
    }
    _solve_implicit(info, m, o, tspan)
  }
}
# If some equations are for components of a field, structural analysis is
# skipped: the system has index 0 or 1, or is refused at the start.
_structure_of(info) = if kind(info.structure) != "none" { info.structure } else {
  (turns = map(q -> 0, list(...info.equations)),
    orders = map(k -> _order_of(info, k, 0), each(len(info.sizes))), left = -1)
}
# Whether the equations are proven from their code to be jointly linear in the
# highest derivatives. A factor that switches with one of them is not linear.
_is_linear_in_highest(info, S) = {
  d = _dependence((r, t) -> _highest_residual(info, S, t, _zero_parts(info, S.orders), r),
    _split(_flat_zero(info), info.sizes), info.lo[0])
  n = len(info.sizes)
  linear = true
  for i in each(n) { for k in each(n) { if d.factors[i][k] { linear = false } } }
  linear
}
_zero_parts(info, orders) =
  map(k -> map(j -> if info.sizes[k] == 0 { 0.0 } else { zeros(info.sizes[k]) }, each(orders[k])),
    each(len(info.fields)))
_flat_zero(info) = _join(map(n -> if n == 0 { 0.0 } else { zeros(n) }, list(...info.sizes)))

# All equations, differentiated as often as the structure requires.
_highest_residual(info, S, t, parts, highest) = {
  all = _with_highest(parts, highest)
  _join(map(i -> _equation(info, i, S.turns[i])(t, all), each(len(info.equations))))
}
# The hidden constraints: the equations before their last differentiation.
_hidden(info, S, t, parts) = {
  all = _with_highest(parts, map(n -> if n == 0 { 0.0 } else { zeros(n) }, list(...info.sizes)))
  out = list()
  for i in each(len(info.equations)) {
    for p in each(S.turns[i]) { out = push(out, _equation(info, i, p)(t, all)) }
  }
  concat(...out)
}

# For equations linear in the highest derivatives: these as functions of t and
# the state, the derivative of the state, and whether each equation determines
# one of them alone.
_explicit_rates(info, S) = {
  sizes = info.sizes
  own_slope = len(info.equations) == len(sizes)
  zero = _flat_zero(info)
  at = _zero_parts(info, S.orders)
  nought = _split(zero, sizes)
  for i in each(if own_slope { len(sizes) } else { 0 }) {
    for k in each(len(sizes)) {
      s =
        _slope(r -> _equation(info, i, S.turns[i])(info.lo[0],
          _with_highest(at, map(l -> if l == k { r } else { nought[l] }, each(len(sizes))))),
          nought[k])
      if s != (if i == k { 1 } else { 0 }) { own_slope = false }
    }
  }
  highest_at = (t, y) -> {
    parts = _parts(y, sizes, S.orders)
    R = _highest_residual(info, S, t, parts, nought)
    _split(if own_slope {
      -R
    } else {
      -_solved_or_nan(_jacobian(r -> _highest_residual(info, S, t, parts, _split(r, sizes)), zero),
        R)
    }, sizes)
  }
  flow = (t, y) -> {
    parts = _parts(y, sizes, S.orders)
    highest = highest_at(t, y)
    _state(map(k -> if S.orders[k] == 0 { list() } else { push(parts[k][1..], highest[k]) },
      each(len(sizes))))
  }
  (highest_at, flow, own_slope)
}

_solve_explicit(info, m, o, S, tspan, differentiated) = {
  sizes = info.sizes
  o = (...o, names = _state_names(info, S.orders))
  zero = _flat_zero(info)
  (highest_at, flow, own_slope) = _explicit_rates(info, S)
  y0 = _state(_start_parts(info, S.orders))
  singular = if own_slope {
    false
  } else {
    _is_singular(_jacobian(r -> _highest_residual(info, S, tspan[0], _parts(y0, sizes, S.orders),
      _split(r, sizes)), zero))
  }
  # algebraic equations among the components of a vector, or in the rows of a
  # matrix of the rates: the original system, for a method that takes it
  disguised = not own_slope and not differentiated and not (kind(m.implicit) == "none") and
    len(info.events) == 0 and
    not o.partial
  refuse = () -> error(
    "no solution from {info.coords[0]} = {tspan[0]:.9g} on: there the equations of {info.name} do "
    "not determine {_top_names(info, S)}, the matrix before them is singular; they may be right a "
    "little later, or be algebraic equations in "
    "disguise{if disguised { "" } else { ", which bdf() and auto() take without events" }}")
  # at a regular singular point the matrix, or the rates, have a value only
  # after the start
  clocked = not differentiated and len(info.events) == 0 and not o.partial and
    _depends_on_coordinate(info)
  for d in S.orders { if d == 0 { clocked = false } }
  inside = if clocked { _begins_singular(flow, y0, f64(tspan[0]), f64(tspan[1])) } else { false }
  piece = if clocked { _first_piece(flow, y0, tspan, o, inside) } else { none }
  past = if clocked { piece.found } else { false }
  singular = singular and not past
  if singular and not disguised { refuse() }
  (y0, f) = if differentiated {
    h = (t, y) -> _hidden(info, S, t, _parts(y, sizes, S.orders))
    start = _consistent(info, S, h, tspan[0], y0)
    back = 50 / (tspan[1] - tspan[0])
    (start, (t, y) -> {
      H = _jacobian(u -> h(t, u), y);
      flow(t, y) - back * (H' @ _solved_or_nan(H @ H', h(t, y)))
    })
  } else { (y0, flow) }
  all = (t, y) -> _with_highest(_parts(y, sizes, S.orders), highest_at(t, y))
  if len(info.events) > 0 or o.partial {
    r = _with_jacobian(f, tspan[0], y0, none, m, (jac, pattern) ->
      _integrate_events(m, f, jac, y0, tspan[0], f64(tspan[1]),
        _integration(y0, pattern, (...o, saveat = [])), _problem_events(info, S.orders, all)))
    state = _dense_steps(r.times, r.values, r.starts, m.degree)
    (times, Y) = _rows_asked(r, state, o.saveat)
    ((..._solution_of(info, m, S.orders, all, state, r.times, times, Y, _stats(r.stats)),
      events = r.events, complete = r.complete), state)
  } else {
    (begin, y) = if clocked { (piece.end, piece.state) } else { (tspan[0], y0) }
    rest = if clocked and not _asks_all(o.saveat) { (...o, saveat = piece.saveat) } else { o }
    explicit =
      () -> _with_jacobian(f, begin, y, none, m,
        (jac, pattern) -> _integrate(m, f, jac, pattern, y, begin, tspan[1], rest))
    (times, Y, stats) = if disguised {
      if singular {
        _of_degree(m.degree, o, _implicit_rows(info, m, o, tspan, refuse))
      } else {
        explicit()
      }
    } else { explicit() }
    if clocked {
      (early, rows) = _early_rows(piece, o, m.degree)
      (times, Y) = (concat(early, times), concat(rows, Y))
    }
    state = _dense(times, Y, m.degree, _asks_all(o.saveat))
    (_solution_of(info, m, S.orders, all, state, times, times, Y, stats), state)
  }
}

# x with A x = b, or NaN where A is singular. An implicit step or stage may try
# such points; the method rejects them like points where a function has no
# value.
_solved_or_nan(A, b) = try { linsolve(A, b) } catch e { 0 * b + nan }

_is_singular(A) = {
  A = stop_gradient(A)
  s = svd(A)[1]
  not (s[-1] > 1e-14 * s[0])
}
_top_names(info, S) = {
  s = ""
  for (k, name) in enumerate(info.fields) {
    order = S.orders[k]
    top = if order == 0 { name } else { _derivative_name(name, info.coords[0], order) }
    s = "{s}{if k == 0 { "" } else { ", " }}{top}"
  }
  s
}

# Consistent initial values of a differentiated system: solves for the values
# that the conditions leave open. The conditions themselves must be consistent.
_consistent(info, S, h, t0, y0) = {
  given = map(k -> map(j -> 0.0, each(S.orders[k])), each(len(info.sizes)))
  for c in info.conditions {
    for k in c.jets {
      (f, j) = info.jets[k];
      if j < len(given[f]) { own = given[f]; own[j] = 1.0; given[f] = own }
    }
  }
  known = true
  for own in given { for x in own { if x == 0 { known = false } } }
  y = if known { y0 } else {
    free =
      _state(
        map(k ->
          map(j -> (1 - given[k][j]) * (if info.sizes[k] == 0 { 1.0 } else { ones(info.sizes[k]) }),
            each(S.orders[k])), each(len(info.sizes))))
    y = y0
    for turn in 0..20 {
      H = _jacobian(u -> h(t0, u), y) * expand(free, 0)
      # the minimum norm solution of H dy = -h; if there is none, that of the
      # smallest residual
      y = y - H' @ linsolve(H @ H' + 1e-14 * (trace(H @ H') + 1e-300) * eye(len(H)), h(t0, y))
    }
    y
  }
  off = abs(h(t0, y))
  size = sum(abs(_jacobian(u -> h(t0, u), y)) * (expand(abs(y), 0) + 1e-6); axis = 1)
  worst = argmax(off / (size + 1e-300))
  if off[worst] > 1e-6 * size[worst] {
    names = _hidden_names(info, S)
    for (k, name) in enumerate(names) {
      if k == worst {
        error(
          "initial values that are not consistent at {info.coords[0]} = {t0:.9g}: {name} is off by "
          "{off[worst]:.3g}; the equations of {info.name} do not leave every initial value free")
      }
    }
  }
  y
}
_hidden_names(info, S) = {
  out = list()
  for (i, q) in enumerate(info.equations) {
    n = if kind(q.residual) == "none" { 1 } else { max(1, info.sizes[i]) }
    for p in each(S.turns[i]) {
      for j in each(n) {
        out = push(out, if p == 0 {
          "`{q.text}`"
        } else {
          if p == 1 {
            "the time derivative of `{q.text}`"
          } else {
            "the time derivative number {p} of `{q.text}`"
          }
        })
      }
    }
  }
  out
}

# The rows of an implicit method at as many points of each step as those of
# another method.
_of_degree(degree, o, r) = {
  (times, Y, stats) = r
  if _asks_all(o.saveat) {
    (times, Y) =
      _with_degree(times, Y, list(...map(j -> 0.5 - 0.5 * cos(π * j / 5), each(6))), degree)
  }
  (times, Y, stats)
}

# The equations as F(t, y, y') == 0 of a state with at least every field: the
# number of derivatives of each field in it, F, its initial value, and all
# derivatives from state and rate.
_implicit_system(info) = {
  sizes = info.sizes
  highest = map(k -> _order_of(info, k, 0), each(len(sizes)))
  orders = map(n -> max(1, n), highest)
  start = _start_parts(info, orders)
  # all derivatives, from the state and its rate
  all = (y, yp) -> {
    rates = _parts(yp, sizes, orders)
    parts = _parts(y, sizes, orders)
    map(k -> if highest[k] == 0 { parts[k] } else { push(parts[k], rates[k][-1]) },
      each(len(sizes)))
  }
  F = (t, y, yp) -> {
    parts = _parts(y, sizes, orders)
    rates = _parts(yp, sizes, orders)
    a = all(y, yp)
    own = map(q -> q.residual((t,), _jets_of(info, a)), list(...info.equations))
    for k in each(len(sizes)) {
      for j in each(1, orders[k]) { own = push(own, rates[k][j - 1] - parts[k][j]) }
    }
    concat(...own)
  }
  id =
    _state(map(k -> map(v -> (if highest[k] == 0 { 0.0 } else { 1.0 }) + 0.0 * v, start[k]),
      each(len(sizes))))
  (orders, F, _state(start), id, all)
}
# Its rows, by an implicit method. The equations, not the fields, decide which
# components have a rate. For up to 31 unknowns whose matrix D of y' is proven
# constant, new unknowns z with y = T z are used; those to which D T gives no
# rate are algebraic. Otherwise a component is algebraic if no equation has its
# rate.
#
# refuse: the message if neither applies, when rates that are undetermined
# initially may be determined later; none if the system is known to be implicit.
_implicit_rows(info, m, o, tspan, refuse) = {
  (orders, F, y0, id, all) = _implicit_system(info)
  o = (...o, names = _state_names(info, orders), equations = _equation_names(info, orders),
    switches = _clock_of(info))
  t0 = tspan[0]
  n = 0
  for k in each(len(info.sizes)) { n = n + orders[k] * max(1, info.sizes[k]) }
  run = (F, y0, id) -> _on_pattern_of(F, t0, y0, (jac, pattern) ->
    m.implicit(m, F, jac, y0, id, t0, f64(tspan[1]), _integration(y0, pattern, o)))
  q = concat([0.0], y0, y0)
  constant = n < 32 and
    _slope(q -> ravel(_rows_jacobian(v -> F(q[0], q[1..1 + n], v), q[1 + n..])), q) == 0
  if constant {
    (T, back, id) = _primal(() -> _rate_basis(_rows_jacobian(v -> F(t0, y0, v), zeros_like(y0))))
    plain = max(abs(T - eye(n))) == 0
    G = (t, z, zp) -> F(t, T @ z, T @ zp)
    # Unknowns in the rates keep their values, and algebraic unknowns are solved
    # for from their given values. The parts of a combination are all given and
    # must be consistent.
    (z, _) =
      _dae_start(G, none, back @ y0, id, t0,
        (rtol = o.rtol, atol = o.atol + 0.0 * y0, pattern = none))
    off = stop_gradient(where(max(abs(T - eye(n)); axis = 1) > 0, abs(T @ z - y0), 0.0))
    if max(off) > 1e-6 * (1 + max(abs(stop_gradient(y0)))) {
      error(
        "initial values that are not consistent at {info.coords[0]} = {t0:.9g}: number "
        "{argmax(off)} of ({join(_state_words(o.names), ", ")}) is off by {max(off):.3g}; the "
        "matrix before the rates of {info.name} is singular, so that its equations do not leave "
        "every initial value free")
    }
    (times, Z, stats) = run(G, back @ y0, id)
    (times, if plain { Z } else { Z @ T' }, stats)
  } else {
    present = _primal(() -> _pattern(F, (t0, y0, zeros_like(y0)), 2, false).columns)
    if not (kind(refuse) == "none") {
      if sum(i64(map(j -> sum(i64(present == j)) > 0, iota(n)))) == n { refuse() }
    }
    run(F, y0, id * f64(map(j -> sum(i64(present == j)) > 0, iota(n))))
  }
}
# Unknowns z with y = T z for which each column of D T is zero or independent of
# the others; T^-1; and 0 for those with a zero column. Elimination with
# complete pivoting, where a pivot below 1e-12 of its row counts as 0. A zero
# column of D leaves its unknown unchanged.
_rate_basis(D) = {
  n = len(D)
  size = max(abs(D); axis = 1)
  A = D / expand(where(size > 0, size, 1.0), 1)
  (row_free, free) = (ones(n), ones(n))
  row_of = i64(zeros(n))
  for k in 0..n {
    W = ravel(abs(A) * expand(row_free, 1) * expand(free, 0))
    p = argmax(W)
    if W[p] > 1e-12 {
      (i, j) = (p // n, p % n)
      A[i] = A[i] / A[i, j]
      c = A[.., j]
      c[i] = 0.0
      A = A - expand(c, 1) * expand(A[i], 0)
      row_free[i] = 0.0
      free[j] = 0.0
      row_of[j] = i
    }
  }
  R = expand(1 - free, 1) * A[row_of] * expand(free, 0)
  (eye(n) - R, eye(n) + R, 1 - free)
}
_solve_implicit(info, m, o, tspan) = {
  (orders, F, y0, id, all) = _implicit_system(info)
  jets = (t, y) -> all(y, zeros_like(y))
  if len(info.events) > 0 or o.partial {
    o = (...o, names = _state_names(info, orders), equations = _equation_names(info, orders),
      switches = _clock_of(info))
    r = _on_pattern_of(F, tspan[0], y0, (jac, pattern) ->
      _integrate_events_implicit(m, F, jac, y0, id, tspan[0], f64(tspan[1]),
        _integration(y0, pattern, (...o, saveat = [])), _problem_events(info, orders, jets)))
    state = _dense_steps(r.times, r.values, r.starts, 5)
    (times, Y) = _rows_asked(r, state, o.saveat)
    ((..._solution_of(info, m, orders, jets, state, r.times, times, Y, _stats(r.stats)),
      events = r.events, complete = r.complete), state)
  } else {
    (times, Y, stats) = _implicit_rows(info, m, o, tspan, none)
    state = _dense(times, Y, 5, _asks_all(o.saveat))
    sol = _solution_of(info, m, orders, jets, state, times, times, Y, stats)
    (if _asks_all(o.saveat) { (...sol, ..._to_the_end(times, Y, 5, tspan[1])) } else { sol }, state)
  }
}

# Times and values whose last row is at t1, and moves with it. The rule of "ode"
# includes this, by y' = f(t, y). An implicit system has no y', so the row moves
# along the integrator's polynomial.
_to_the_end(times, Y, d, t1) = {
  ends = times
  rows = Y
  if len(times) > 1 {
    rows[-1] = _through_nodes(times, Y, d, t1)
    ends[-1] = t1
  }
  (times = ends, values = rows)
}

# ---- events of a problem

_problem_events(info, orders, all) =
  map(e -> event((t, y) -> e.expr((t,), _jets_of(info, all(t, y))); direction = e.direction,
    terminal = e.terminal, then = if kind(e.update) == "none" {
      none
    } else {
      (t, y) -> _updated(info, orders, e, t, y, all(t, y))
    }, name = e.name), list(...info.events))
_updated(info, orders, e, t, y, all) = {
  after = e.update((t,), _jets_of(info, all))
  parts = _parts(y, info.sizes, orders)
  for (i, j) in enumerate(list(...info.jets)) {
    if kind(after[i]) != "none" {
      if j[1] >= orders[j[0]] {
        _refuse("the event {e.name} gives a value to a derivative that follows from the equations")
      }
      own = parts[j[0]]
      own[j[1]] = 0.0 * own[j[1]] + after[i]
      parts[j[0]] = own
    }
  }
  _state(parts)
}
# ---- for messages: names of state components, texts of equations

_state_names(info, orders) = {
  s = ""
  for (k, name) in enumerate(info.fields) {
    for j in each(orders[k]) {
      s =
        ("{s}{if j == 0 { name } else { _derivative_name(name, info.coords[0], j) }}\t"
          "{info.sizes[k]}\n")
    }
  }
  s
}
_equation_names(info, orders) = {
  s = ""
  alike = len(info.equations) == len(info.sizes)
  for (k, q) in enumerate(info.equations) {
    s = "{s}{replace(q.text, "\n", " ")}\t{if alike { info.sizes[k] } else { q.rows }}\n"
  }
  for (k, name) in enumerate(info.fields) {
    for j in each(1, orders[k]) {
      s =
        ("{s}the derivative of "
          "{if j == 1 { name } else { _derivative_name(name, info.coords[0], j - 1) }}\t"
          "{info.sizes[k]}\n")
    }
  }
  s
}

# ---- the solution

# all(t, y): every derivative of every field; orders: the number of them in the
# state. The state is known from the first to the last of `known`.
_solution_of(info, m, orders, all, state, known, times, Y, stats) = {
  names = list()
  values = list()
  for (k, name) in enumerate(info.fields) {
    for j in each(max(1, orders[k])) {
      one = t -> if j < orders[k] {
        _parts(state(t), info.sizes, orders)[k][j]
      } else {
        all(t, state(t))[k][j]
      }
      names = push(names, if j == 0 { name } else { _derivative_name(name, info.coords[0], j) })
      values = push(values, t -> _for_each(one, t))
    }
  }
  (...record(names, values), times = times, values = Y, stats = stats, method = m.name,
    kind = "ode", info = _info_known(info, 0, known))
}
# The part of a problem that a solution stores. Along a coordinate it is known
# between the first and the last of `known`.
_info_known(info, axis, known) = {
  (a, b) = (f64(known[0]), f64(known[-1]))
  put = (all, x) -> (...map(i -> if i == axis { x } else { all[i] }, each(len(info.coords))),)
  (..._info_of(info), lo = put(info.lo, min(a, b)), hi = put(info.hi, max(a, b)))
}
_derivative_name(field, t, j) = {
  s = "{field}_"
  for i in each(j) { s = "{s}{t}" }
  s
}
