# grid_elimination.dsl - elimination of the values at nodes with conditions on a
# tensor grid.
#
# Needs: conditions that are linear in the values along the normal.
# Method: Schur complement. Along each line of nodes, the conditions at its two
# ends give the values there as linear combinations of the others. One stage for
# each coordinate eliminates those of its faces; the stages combine into a
# sparse map from the free values to all values.

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
