# grid_residual.dsl - residual of equations and conditions on a tensor grid.
#
# Unknowns are parts: for each field its values at all nodes, for each time
# derivative below its order in t and each component, f64[P] each. U is their
# concatenation, f64[N].
#
# Method: collocation. Equations hold at every node without a condition. On a
# face the first condition of a field replaces its equation on the outermost
# layer of nodes, the second one that on the next layer. Where faces meet, the
# later coordinate's condition applies. The rows of an equation are those of one
# field, matched by the highest derivatives.

# ---- parts

_width(info, k) = max(1, info.sizes[k])
# Returns the order of a field in t.
_order_in_time(info, time, k) = if time < 0 { 0 } else { _order_of(info, k, time) }
_field_count(info) = if info.eigen == "" { len(info.fields) } else {
  n = 0
  for f in info.fields { if f != info.eigen { n = n + 1 } }
  n
}
_first_part(info, levels, k, level) = {
  at = 0
  for f in each(k) { at = at + levels[f] * _width(info, f) }
  at + level * _width(info, k)
}
_part_of(S, U, i) = if S.parts == 1 { U } else { reshape(U, S.parts, S.T.P)[i] }

# Returns the order in time of a jet; _jet_space returns those in space.
_jet_time(S, j) = if S.time < 0 { 0 } else { j[1 + S.time] }
_jet_space(S, j) = map(i -> j[1 + i], S.T.space)

_structure(info, m) = {
  T = _tensor(info, m)
  time = _time_of(info)
  count = _field_count(info)
  orders = map(k -> _order_in_time(info, time, k), each(count))
  levels = map(n -> max(1, n), orders)
  parts = 0
  for k in each(count) { parts = parts + levels[k] * _width(info, k) }
  (T = T, time = time, count = count, orders = (...orders,), levels = (...levels,), parts = parts,
    N = parts * T.P)
}

# ---- residuals at points

# Returns the coordinates in the order of the domains.
_node_coordinates(info, S, t, x) = {
  out = list()
  p = 0
  for i in each(len(info.coords)) {
    if i == S.time { out = push(out, t) } else { out = push(out, x[p]); p = p + 1 }
  }
  out
}
_zero_jets(info) =
  map(j -> if info.sizes[j[0]] == 0 { 0.0 } else { zeros(info.sizes[j[0]]) }, list(...info.jets))
# Returns generic jets, with values between `low` and low + 1.
_some_jets(info, low) =
  map(i -> {
    n = info.sizes[info.jets[i][0]]
    of = c -> low + (0.618034 * (i + 1) + 0.754878 * (c + 1)) % 1.0
    if n == 0 { of(0) } else { map(c -> of(c), iota(n)) }
  }, each(len(info.jets)))
# Returns jets that are zero except one, or one component of it, which is 1.
_unit_jet(info, i, c) =
  map(k -> {
    n = info.sizes[info.jets[k][0]]
    if n == 0 {
      if k == i { 1.0 } else { 0.0 }
    } else {
      if k == i { f64(iota(n) == c) } else { zeros(n) }
    }
  }, each(len(info.jets)))
_some_point(info, S) = map(i -> info.lo[i] + 0.3719 * (info.hi[i] - info.lo[i]), S.T.space)

_as_row(v, like) = f64(v) + 0.0 * like
_residual_at(info, S, q, t, x, jets) =
  _as_row(q.residual(_node_coordinates(info, S, t, x), jets), x[0])
# Returns the residual at many points: f64[points], or f64[points, rows].
_point_residuals(info, S, q, t, X, jets) =
  map_rows(r -> _residual_at(info, S, q, t, r.x, r.j), (x = X, j = jets))

# Returns the values of every jet at all nodes. V: the time derivatives of all
# parts, or none for zero; λ: the eigenvalue of an eigenproblem.
_jets_on(info, S, U, V, λ = 0.0) = map(j -> _jet_on(info, S, U, V, j, λ), list(...info.jets))
_jet_on(info, S, U, V, j, λ) = {
  k = j[0]
  if k >= S.count { λ + 0.0 * S.T.X[0] } else {
    level = _jet_time(S, j)
    from = c -> if level < S.levels[k] {
      _derived(S.T, _jet_space(S, j), _part_of(S, U, _first_part(info, S.levels, k, level) + c))
    } else if kind(V) == "none" { 0.0 * S.T.X[0] } else {
      _derived(S.T, _jet_space(S, j),
        _part_of(S, V, _first_part(info, S.levels, k, S.levels[k] - 1) + c))
    }
    if info.sizes[k] == 0 { from(0) } else { stack(...map(from, each(info.sizes[k])); axis = 1) }
  }
}

# ---- matching of equations to fields

# Returns for each equation the field whose rows it takes: that of its highest
# derivatives, first in t, then in space, each field once. In an eigenproblem a
# field that the eigenvalue multiplies comes first.
_matched(info, S) = {
  n = S.count
  multiplied = if info.eigen == "" {
    list()
  } else {
    map(q -> _multiplied_fields(info, q), list(...info.equations))
  }
  out = map(e -> -1, each(n))
  taken = map(e -> false, each(n))
  for turn in each(n) {
    best = -2
    (row, column) = (0, 0)
    for (e, q) in enumerate(info.equations) {
      for k in each(n) {
        if out[e] < 0 and not taken[k] {
          score = -1
          for i in q.jets {
            j = info.jets[i]
            if j[0] == k {
              total = 100 * _jet_time(S, j) + (if k == e { 1 } else { 0 })
              for d in S.T.space { total = total + 4 * j[1 + d] }
              if info.eigen != "" { if contains(multiplied[e], k) { total = total + 1000 } }
              score = max(score, total)
            }
          }
          if score > best { best = score; row = e; column = k }
        }
      }
    }
    out[row] = column
    taken[column] = true
  }
  out
}

# Returns the fields that the eigenvalue multiplies in an equation, proven from
# its code.
_multiplied_fields(info, q) = {
  d = _residual_dependence(info, q).factors
  n = len(info.coords)
  out = list()
  for (i, a) in enumerate(info.jets) {
    for (k, b) in enumerate(info.jets) {
      if info.fields[b[0]] == info.eigen and d[n + i][n + k] and not contains(out, a[0]) {
        out = push(out, a[0])
      }
    }
  }
  out
}

# ---- equations and conditions together

# Returns the residual of all equations and conditions, in the rows of U; V: the
# time derivatives of all parts, or none.
_whole_residual(info, S, matched, conditions, t, U, V, λ = 0.0) = {
  T = S.T
  jets = _jets_on(info, S, U, V, λ)
  out = map(i -> 0.0 * T.X[0], each(S.parts))
  for (e, q) in enumerate(info.equations) {
    k = matched[e]
    r = _equation_on_grid(info, S, q, t, U, V, λ, jets)
    first = _first_part(info, S.levels, k, S.levels[k] - 1)
    for c in each(_width(info, k)) {
      out[first + c] = if info.sizes[k] == 0 { r } else { r[.., c] }
    }
  }
  for k in each(S.count) {
    for level in each(1, S.levels[k]) {
      for c in each(_width(info, k)) {
        a = _first_part(info, S.levels, k, level - 1) + c
        b = _first_part(info, S.levels, k, level) + c
        out[a] = _part_of(S, V, a) - _part_of(S, U, b)
      }
    }
  }
  F = concat(...out)
  for c in conditions {
    nodes = _nodes_of(S, c)
    x = map(v -> v[nodes], T.X)
    own = map(v -> v[nodes], jets)
    own = if _has_jumps(info) and c.p >= 0 and c.layer == 0 {
      _with_wall_slopes(info, S, c, t, x, own, U, V, λ, jets)
    } else {
      own
    }
    r = if c.shift == 0 { _point_residuals(info, S, c.q, t, x, own) } else {
      if c.shift > 1 {
        error("the condition `{c.q.text}` would have to be differentiated {c.shift} times by t")
      }
      later =
        map(j -> _jet_on(info, S, U, V,
          map(i -> if i == 1 + S.time { j[i] + 1 } else { j[i] }, each(len(j))), λ)[nodes],
          list(...info.jets))
      map_rows(r -> jvp(v -> _residual_at(info, S, c.q, v[0], r.x, v[1]), (t, r.j), (1.0, r.d))[1],
        (x = x, j = own, d = later))
    }
    for (i, rows) in enumerate(_rows_of(S, c)) { F[rows] = _row_at(r, c.rows[i].row) }
  }
  F
}
