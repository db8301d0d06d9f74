# grid_jacobian.dsl - exact sparse Jacobian of the residual on a tensor grid
# (grid_residual.dsl).
#
# Method: the derivatives of a residual with respect to the jets at a point,
# times the weights of the operators. The pattern is that of the stencils, less
# the elements that dataflow analysis proves zero. Columns of eliminated values
# are distributed to the free ones (grid_elimination.dsl).

# ---- elements

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

# ---- sparse matrices

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

# ---- equations and conditions together

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
