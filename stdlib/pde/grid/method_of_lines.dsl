# method_of_lines.dsl - discretisation on a tensor grid: equations and
# conditions at the nodes, their exact sparse Jacobian, and the method of lines.
#
# Unknowns are parts: for each field its values at all nodes, for each time
# derivative below its order in t and each component, f64[P] each. U is their
# concatenation, f64[N].
#
# Method: collocation. Equations hold at every node without a condition. On a
# face the first condition of a field replaces its equation on the outermost
# layer of nodes, the second one that on the next layer. Where faces meet, the
# later coordinate's condition applies. The Jacobian is the derivatives of a
# residual with respect to the jets at a point, times the weights of the
# operators.
#
# The system is explicit where every equation has one time derivative with a
# constant factor (for waves: one that depends only on the place) and all
# conditions are linear in the values along the normal. The values at nodes with
# conditions are then eliminated (a Schur complement), and a system of ordinary
# differential equations remains. Otherwise IDA solves equations and conditions
# together as a differential-algebraic system.

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

# ---- values at nodes with conditions from the others

# Returns the stages of the elimination, one for each coordinate with
# conditions: U[nodes] = M @ [U, g], where g are the constants of all
# conditions. Along each line of nodes, the conditions at its two ends are a
# small linear system.
_end_stages(info, S, conditions) = {
  out = list()
  offset = S.N
  for p in each(S.T.count) {
    own = list()
    for c in conditions { if c.p == p { own = push(own, c) } }
    if len(own) > 0 {
      st = _stage_along(info, S, own, p, offset)
      out = push(out, st)
      offset = offset + len(st.nodes)
    }
  }
  out
}

_stage_along(info, S, own, p, offset) = {
  T = S.T
  g = T.dims[p]
  lines = T.P // T.n[p]
  m = len(g.ends)
  rows = list()
  pivots = list()
  nodes = list()
  for c in own {
    face = _nodes_of(S, c)
    x = map(v -> v[face], T.X)
    for (r, places) in enumerate(_rows_of(S, c)) {
      blocks = map(k -> zeros(lines, m), each(S.parts))
      for i in (...c.q.linear, ...c.q.nonlinear) {
        j = info.jets[i]
        w = _end_weights(g, j[1 + c.q.at.coord], c.side)
        for a in each(_width(info, j[0])) {
          slope =
            map_rows(v -> jvp(js -> _residual_at(info, S, c.q, 0.0, v.x, js), _zero_jets(info),
              _unit_jet(info, i, a))[1],
              (x = x))
          part = _first_part(info, S.levels, j[0], _jet_time(S, j) + c.shift) + a
          blocks[part] = blocks[part] + expand(_row_at(slope, c.rows[r].row), 1) * expand(w, 0)
        }
      }
      rows = push(rows, concat(...blocks; axis = 1))
      pivots =
        push(pivots, c.rows[r].part * m + (if c.side == 0 { c.layer } else { m - 1 - c.layer }))
      nodes = push(nodes, places)
    }
  }
  R = len(rows)
  piv = i64(stack(...pivots))
  M = stack(...rows; axis = 1)
  A = M[.., .., piv]
  M[.., .., piv] = 0.0
  I = zeros(lines, R, R) + eye(R)
  (X, G) = if R == 1 { (-M / A, -I / A) } else {
    (-map((a, b) -> linsolve(a, b), A, M), -map((a, b) -> linsolve(a, b), A, I))
  }
  base = _layer_nodes(T, p, 0, 0)
  k = iota(S.parts * m)
  column = expand(base, 1) + expand((k // m) * T.P + g.ends[k % m] * T.stride[p], 0)
  own_row = broadcast_to(reshape(iota(R), 1, R, 1), lines, R, S.parts * m) * lines +
    reshape(iota(lines), lines, 1, 1)
  own_column = broadcast_to(reshape(column, lines, 1, S.parts * m), lines, R, S.parts * m)
  g_row = broadcast_to(reshape(iota(R), 1, R, 1), lines, R, R) * lines +
    reshape(iota(lines), lines, 1, 1)
  g_column = offset + broadcast_to(reshape(iota(R), 1, 1, R), lines, R, R) * lines +
    reshape(iota(lines), lines, 1, 1)
  (x_kept, g_kept) = (findall(ravel(stop_gradient(X)) != 0), findall(ravel(stop_gradient(G)) != 0))
  (nodes = concat(...nodes), rows = concat(ravel(own_row)[x_kept], ravel(g_row)[g_kept]),
    columns = concat(ravel(own_column)[x_kept], ravel(g_column)[g_kept]),
    values = concat(ravel(X)[x_kept], ravel(G)[g_kept]), inner = len(x_kept), p = p)
}
# Returns the weights of the k-th derivative at an end, on the nodes that either
# end uses.
_end_weights(g, k, side) = {
  w = g.D[k][if side == 0 { 0 } else { -1 }]
  if g.dense { w } else if side == 0 { concat(w, 0.0 * w) } else { concat(0.0 * w, w) }
}

# Returns the constants of the conditions at time t, in the order of the stages.
_constants(info, S, conditions, t) = {
  out = list()
  for p in each(S.T.count) {
    for c in conditions {
      if c.p == p {
        face = _nodes_of(S, c)
        x = map(v -> v[face], S.T.X)
        of = (v, s) -> _residual_at(info, S, c.q, s, v.x, _zero_jets(info))
        g = map_rows(v -> _time_derivative(s -> of(v, s), t, c.shift), (x = x))
        for w in c.rows { out = push(out, _row_at(g, w.row)) }
      }
    }
  }
  (...out,)
}
_time_derivative(f, t, n) = if n == 0 { f(t) } else if n == 1 { jvp(f, t, 1.0)[1] } else if n == 2 {
  jvp(r -> jvp(f, r, 1.0)[1], t, 1.0)[1]
} else {
  error("a condition would have to be differentiated {n} times by t")
}

# Returns all values from the free ones.
_filled(info, S, D, t, y) = if len(D.stages) == 0 { y } else {
  U = zeros(S.N) + 0.0 * y[0]
  U[D.free] = y
  _set_conditions(info, S, D, t, U)
}
_set_conditions(info, S, D, t, U) = {
  g = concat(..._constants(info, S, D.conditions, t))
  v = U
  for st in D.stages {
    both = concat(v, g)
    set = zeros(len(st.nodes)) + 0.0 * both[0]
    set[st.rows] += st.values * both[st.columns]
    v[st.nodes] = set
  }
  v
}

# Returns the linear map from the free values to all values, by rows: start
# i64[N + 1], columns, values. whole: whether all are free.
_elimination(S, stages) = {
  fixed = zeros(S.N)
  for st in stages { fixed[st.nodes] = 1.0 }
  free = findall(fixed == 0)
  n = len(free)
  number = i64(zeros(S.N))
  number[free] = iota(n)
  # Rows that a stage sets begin empty, and become that stage's combination of
  # the rows before.
  r = free
  c = number[free]
  v = ones(n)
  for st in stages {
    start = _starts(r, S.N)
    order = argsort(r)
    (k, j, w) = (st.rows[..st.inner], st.columns[..st.inner], st.values[..st.inner])
    meets = start[j + 1] - start[j]
    of = repeat(iota(len(j)), meets)
    within = iota(len(of)) - repeat(cumsum(meets) - meets, meets)
    at = order[start[j[of]] + within]
    mine = zeros(S.N)
    mine[st.nodes] = 1.0
    kept = findall(mine[r] == 0)
    E = sparse(concat(r[kept], st.nodes[k[of]]), concat(c[kept], c[at]),
      concat(v[kept], w[of] * v[at]), S.N, n)
    (r, c, v) = (E.rows, E.columns, E.values)
  }
  order = argsort(r)
  (free = free, whole = false, start = _starts(r, S.N), columns = c[order], values = v[order])
}

# ---- the Jacobian

# Returns the sources of residuals: for each the function, the nodes, and the
# rows of U that hold its selected rows. q.jets are the jets that it uses.
_sources(info, S, matched, conditions) = {
  out = list()
  for (e, q) in enumerate(info.equations) {
    k = matched[e]
    first = _first_part(info, S.levels, k, S.levels[k] - 1)
    out =
      push(out, (q = q, all = true, nodes = iota(S.T.P), shift = 0, width = _width(info, k),
        vector = info.sizes[k] > 0, picks = each(_width(info, k)),
        rows = map(r -> (first + r) * S.T.P + iota(S.T.P), each(_width(info, k))), first = true))
  }
  for c in conditions {
    out = push(out,
      (q = c.q, all = false, nodes = _nodes_of(S, c), shift = c.shift, width = max(1, c.q.rows),
        vector = c.q.rows > 0, picks = map(w -> w.row, c.rows), rows = _rows_of(S, c),
        first = false))
  }
  out
}

# Returns the structural nonzeros of the derivatives of a residual with respect
# to its jets: f64[rows, jet components], 0 or 1.
_possible(info, S, s) = {
  v0 = zeros(_jet_start(info, len(info.jets)))
  # The place is an argument too: a derivative that is zero at one place need
  # not be so elsewhere.
  x0 = stack(..._some_point(info, S))
  js = v -> map(i -> {
    n = info.sizes[info.jets[i][0]]
    a = _jet_start(info, i)
    if n == 0 { v[a] } else { v[a..a + n] }
  }, each(len(info.jets)))
  p =
    _pattern((v, t, x) ->
      reshape(_residual_at(info, S, s.q, t, map(i -> x[i], each(S.T.count)), js(v)), s.width),
      (v0, 0.1, x0), 0, false)
  H = zeros(s.width, len(v0))
  H[p.rows, p.columns] = 1.0
  H
}
_jet_start(info, i) = {
  at = 0
  for k in each(i) { at = at + _width(info, info.jets[k][0]) }
  at
}

# Returns groups of elements of the Jacobian. A group has one component of a
# source, one part and one stencil; it is a sum over jets.
_groups(info, S, sources) = {
  out = list()
  for (a, s) in enumerate(sources) {
    H = if s.vector or _has_vectors(info, s.q) { _possible(info, S, s) } else { none }
    for (u, r) in enumerate(s.picks) {
      for part in each(S.parts) {
        for which in each((2, 4, 8)[S.T.count - 1]) {
          support = map(p -> (which // (1, 2, 4)[p]) % 2 == 1, each(S.T.count))
          for rate in list(false, true) {
            members = list()
            any = 0.0
            for (b, i) in enumerate(s.q.jets) {
              j = info.jets[i]
              if j[0] < S.count {
                order = _jet_time(S, j) + s.shift
                top = S.levels[j[0]]
                spread = map(p -> j[1 + S.T.space[p]] > 0, each(S.T.count))
                same = true
                for p in each(S.T.count) { if spread[p] != support[p] { same = false } }
                base = _first_part(info, S.levels, j[0], min(order, top - 1))
                if same and (order >= top) == rate and part >= base and part < base +
                  _width(info, j[0]) {
                  members = push(members, (jet = b, component = part - base,
                    W = _weights_of(S.T, s.nodes, _jet_space(S, j), support)))
                  any = any +
                    (if kind(H) == "none" { 1.0 } else { H[r, _jet_start(info, i) + part - base] })
                }
              }
            }
            if len(members) > 0 {
              out = push(out,
                (source = a, row = r, part = part, rate = rate, members = members, rows = s.rows[u],
                  columns = part * S.T.P + _used_by(S.T, s.nodes, support), any = any,
                  sure = kind(H) == "none"))
            }
          }
        }
      }
    }
  }
  out
}
_has_vectors(info, q) = {
  any = false
  for i in q.jets { if info.sizes[info.jets[i][0]] > 0 { any = true } }
  any
}

# Returns the places of the elements, in the order of _elements, and which of
# them can be nonzero (none where all can).
_element_places(groups) = {
  rows =
    concat(...map(g -> ravel(broadcast_to(expand(g.rows, 1), len(g.rows), shape(g.columns)[1])),
      groups))
  columns = concat(...map(g -> ravel(g.columns), groups))
  sure = true
  for g in groups { if not g.sure { sure = false } }
  there = if sure {
    none
  } else {
    concat(...map(g -> (0.0 * f64(ravel(g.columns)) + g.any) != 0, groups))
  }
  (rows, columns, there)
}
# Returns the values of the elements. scale: by source, the factor of its rows;
# cj: the factor of derivatives with respect to rates.
_elements(info, S, sources, groups, t, jets, scale, cj) = {
  slopes = map(s -> _slopes_of(info, S, s, t, jets), sources)
  concat(...map(g -> {
    s = sources[g.source]
    total = none
    for b in g.members {
      slope = slopes[g.source][b.jet][b.component]
      own = if s.vector { slope[.., g.row] } else { slope }
      term = expand(own, 1) * b.W
      total = if kind(total) == "none" { term } else { total + term }
    }
    factor = if g.rate { scale[g.source] * cj } else { scale[g.source] }
    ravel((if rank(factor) == 0 { factor } else { expand(factor, 1) }) * total)
  }, groups))
}
# Returns the derivatives of a source with respect to each component of each jet
# it uses, at its nodes.
_slopes_of(info, S, s, t, jets) = {
  at = v -> if s.all { v } else { v[s.nodes] }
  map_rows(
    r ->
    map(i ->
      map(c -> jvp(js -> _residual_at(info, S, s.q, t, r.x, js), r.j, _unit_jet(info, i, c))[1],
        each(_width(info, info.jets[i][0]))), list(...s.q.jets)),
    (x = map(at, S.T.X), j = map(at, jets)))
}

# Returns the pattern of a matrix by columns from elements at (rows, columns),
# of which several may coincide. slot has the place to which each is added.
_gathered(rows, columns, m, n) = {
  key = columns * m + rows
  order = argsort(key)
  sorted = key[order]
  first = sorted != concat([-1], sorted)[..len(sorted)]
  slot = i64(zeros(len(key)))
  slot[order] = cumsum(i64(first)) - 1
  kept = sorted[first]
  (r, c) = (kept % m, kept // m)
  (slot = slot, rows = r, columns = c, column_start = _starts(c, n), row_start = _starts(r, m))
}
_summed(p, v) = {
  out = zeros(len(p.rows)) + 0.0 * v[0]
  out[p.slot] += v
  out
}
# Selects and weights the elements of a reduced pattern.
_elements_from(p, v) = if kind(p.from) == "none" { v } else { v[p.from] * p.weight }
_as_sparse(p, v) =
  (rows = p.rows, columns = p.columns, values = v, column_start = p.column_start,
    row_start = p.row_start)

# Returns the pattern of the free rows and free values. Elements in columns of
# nodes with conditions are distributed to the free values that determine these.
_reduced(S, E, rows, columns, there) = if E.whole and kind(there) == "none" {
  (..._gathered(rows, columns, S.N, S.N), from = none, weight = 1.0)
} else if E.whole {
  kept = findall(there)
  (..._gathered(rows[kept], columns[kept], S.N, S.N), from = kept, weight = 1.0)
} else {
  n = len(E.free)
  number = i64(zeros(S.N)) - 1
  number[E.free] = iota(n)
  on =
    findall(if kind(there) == "none" { number[rows] >= 0 } else { there and (number[rows] >= 0) })
  free = number[columns[on]] >= 0
  (own, on) = (on[free], on[not free])
  c = columns[on]
  meets = E.start[c + 1] - E.start[c]
  of = repeat(iota(len(on)), meets)
  within = iota(len(of)) - repeat(cumsum(meets) - meets, meets)
  at = E.start[c[of]] + within
  (..._gathered(number[concat(rows[own], rows[on[of]])],
    concat(number[columns[own]], E.columns[at]), n, n),
    from = concat(own, on[of]), weight = concat(ones(len(own)), E.values[at]))
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

# Returns its Jacobian F_U + cj F_V: the pattern, and a function of (t, U, V,
# cj, λ) for the values.
_whole_jacobian(info, S, matched, conditions) =
  if _has_jumps(info) {
    _jacobian_of_fluxes(info, S, matched, conditions)
  } else {
    _jacobian_of_jets(info, S, matched, conditions)
  }
_jacobian_of_jets(info, S, matched, conditions) = {
  P = S.T.P
  sources = _sources(info, S, matched, conditions)
  groups = _groups(info, S, sources)
  # The source that finally owns each row.
  owner = i64(zeros(S.N)) - 1
  for (a, s) in enumerate(sources) { if not s.first { for r in s.rows { owner[r] = a } } }
  (rows, columns, any) = _element_places(groups)
  mine =
    concat(...map(g -> ravel(i64(0 * g.columns)) +
      (if sources[g.source].first { -1 } else { g.source }), groups))
  there = if kind(any) == "none" { owner[rows] == mine } else { any and (owner[rows] == mine) }
  (r, c, k) = (list(rows), list(columns), list(there))
  signs = list()
  for f in each(S.count) {
    for level in each(1, S.levels[f]) {
      for a in each(_width(info, f)) {
        low = (_first_part(info, S.levels, f, level - 1) + a) * P + iota(P)
        high = (_first_part(info, S.levels, f, level) + a) * P + iota(P)
        r = push(push(r, low), low)
        c = push(push(c, high), low)
        k = push(push(k, owner[low] == -1), owner[low] == -1)
        signs = push(push(signs, list(-1.0, 0.0)), list(0.0, 1.0))
      }
    }
  }
  kept = findall(concat(...k))
  pattern = _gathered(concat(...r)[kept], concat(...c)[kept], S.N, S.N)
  scale = map(s -> 1.0, sources)
  values = (t, U, V, cj, λ) -> {
    jets = _jets_on(info, S, U, V, λ)
    all = list(_elements(info, S, sources, groups, t, jets, scale, cj))
    for s in signs { all = push(all, zeros(P) + (s[0] + cj * s[1])) }
    _summed(pattern, concat(...all)[kept])
  }
  (pattern = pattern, values = values, owner = owner)
}

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
