# amg.dsl - algebraic multigrid as a preconditioner: smoothed aggregation.
#
# Unknowns that depend on each other strongly are put together; what the matrix
# makes nearly zero (a constant; the motions of a rigid body), restricted to
# such an aggregate and smoothed once, is what the next coarser matrix P' A P
# has unknowns for. What a sweep of Gauss and Seidel leaves of an error is such,
# so that the number of iterations hardly grows with the matrix.
#
# All levels lie one behind the other: the matrices are the blocks of one matrix
# by rows, unknowns and right sides the parts of one vector, and a prolongation
# has columns in the next part. So their number need not be known before, and a
# cycle is a loop over the parts. Everything here is loops over elements, which
# become machine code.

# amg(A; levels, coarsest, strength, sweeps, near_null, nodes): smoothed
# aggregation for a sparse matrix, as a preconditioner for cg, minres, gmres and
# bicgstab
#   A symmetric positive definite, as of diffusion or elasticity; near such a
#   matrix it serves gmres and bicgstab, too. near_null: what A makes smallest,
#   a vector or the columns of a matrix, 1 everywhere unless given; of
#   elasticity rigid_modes. nodes: i64[n], to which node each unknown belongs:
#   those of a node stay together. levels: matrices at most, the last of which
#   is
#   factorised; coarsest: unknowns that are few enough for that. strength: of
#   elements that count, beside the root of the product of their diagonal
#   elements (of nodes, their blocks' norms), halved from level to level.
#   sweeps: of Gauss and Seidel's method, forwards before and backwards after
#   the coarser levels.
#   A record: apply and adjoint, as the solvers take them; sizes, the unknowns
#   of each level; complexity, the elements of all matrices beside those of A.
#   Symmetric V-cycles; no derivatives: a preconditioner does not change the
#   solution. Time and memory grow with the elements of A: the matrices of all
#   levels, and once more the largest while they are made.
#   Errors: a matrix that is not square, a diagonal that is not positive,
#   near_null or nodes of another length. [Vaněk, Mandel and Brezina, Computing
#   56, 1996]
#     T = spdiags((2.0, -1.0, -1.0), (0, 1, -1), 40);
#     A = kron(T, speye(40)) + kron(speye(40), T);
#     M = amg(A; coarsest = 200);
#     cg(A, ones(1600); preconditioner = M, report = true).iterations < 15    #> true
#     (M.sizes, M.complexity < 1.5)    #> ([1600, 280, 36], true)
amg(A; levels = 16, coarsest = 1000, strength = 0.08, sweeps = 1, near_null = none, nodes = none) =
  {
    if kind(A) != "sparse" { _refuse("amg takes a sparse matrix; linsolve is for dense ones") }
    n = len(A.column_start) - 1
    if n != len(A.row_start) - 1 {
      error("amg takes a square matrix, not one of {n} rows and {len(A.row_start) - 1} columns")
    }
    if levels < 2 { error("amg takes two levels or more") }
    if sweeps < 1 { error("amg takes one sweep or more") }
    v = if kind(near_null) == "none" { ones(n, 1) } else {
      w = stop_gradient(near_null + 0.0)
      if rank(w) == 1 { expand(w, 1) } else { w }
    }
    if len(v) != n { error("amg: near_null has {len(v)} numbers for {n} unknowns") }
    node = if kind(nodes) == "none" { iota(n) } else { nodes }
    if len(node) != n { error("amg: nodes has {len(node)} numbers for {n} unknowns") }
    if n > 0 { if min(node) < 0 { error("amg: the number of a node is negative") } }
    _cycles(_hierarchy(A.column_start, A.rows, stop_gradient(A.values), i64(node), v, i64(levels),
      i64(coarsest), strength + 0.0),
      i64(sweeps))
  }
_cycles(H, sweeps) =
  (apply = r -> _v_cycle(H, H.by_rows, H.coarse, sweeps, r),
    adjoint = r -> _v_cycle(H, H.by_columns, H.coarse', sweeps, r), sizes = H.level[1..] -
    H.level[..-1], complexity = len(H.by_rows.values) / max(1, H.by_rows.starts[H.level[1]]))
# The hierarchy of nothing, for where a program decides when it runs whether
# there is one
_no_hierarchy() = {
  (i, v) = (i64(zeros(0)), zeros(0))
  A = (starts = [0], columns = i, values = v, at = i, inverse = v)
  (level = [0, 0], by_rows = A, by_columns = A, P = (starts = [0], columns = i, values = v),
    coarse = (rows = i, columns = i, values = v, column_start = [0], row_start = [0]))
}

# rigid_modes(places, components): the motions of a rigid body, which elasticity
# makes zero: the columns that amg takes as near_null
#   places: f64[n, d], where each unknown is, d 2 or 3; components: i64[n],
#   which component of the displacement it is. Columns: d displacements, and 1
#   or 3 rotations about the middle.
#     rigid_modes([0.0, 0; 0, 0; 2, 0; 2, 0], [0, 1, 0, 1])     #~ [[1, 0, 0], [0, 1, -1], [1, 0, 0], [0, 1, 1]]
rigid_modes(places, components) = {
  d = shape(places)[1]
  if d != 2 and d != 3 { _refuse("rigid_modes takes places with two or three coordinates") }
  if len(components) != len(places) {
    error("rigid_modes has {len(components)} components for {len(places)} places")
  }
  stack(...map(c -> where(components == c, 1.0, 0.0), each(d)),
    ..._rotations(places, components, d); axis = 1)
}
# In the plane of each pair of coordinates a rotation about the middle
_rotations(places, components, d) = {
  X = places - mean(places; axis = 0)
  turns = list()
  for b in each(1, d) {
    for a in each(b) {
      turns = push(turns, where(components == b, X[.., a], where(components == a, -X[.., b], 0.0)))
    }
  }
  turns
}

# ---- matrices by rows: starts, columns, values

# The matrix by columns, each in order, m of them
_turned_over(starts, columns, values, m) = {
  begin = _starts(columns, m)
  next = begin
  across = 0 * columns
  v = 0 * values
  for i in 0..len(starts) - 1 {
    for p in starts[i]..starts[i + 1] {
      j = columns[p]
      q = next[j]
      across[q] = i
      v[q] = values[p]
      next[j] = q + 1
    }
  }
  (begin, across, v)
}
# The product of two, the columns of a row in no order; m columns. A row is
# summed in places that are marked with its number.
_multiplied(starts, columns, values, starts2, columns2, values2, m) = {
  n = len(starts) - 1
  mark = i64(zeros(m)) - 1
  begin = i64(zeros(n + 1))
  count = 0
  for i in 0..n {
    for p in starts[i]..starts[i + 1] {
      k = columns[p]
      for q in starts2[k]..starts2[k + 1] {
        j = columns2[q]
        if mark[j] != i {
          mark[j] = i
          count = count + 1
        }
      }
    }
    begin[i + 1] = count
  }
  at = i64(zeros(m)) - 1
  c = i64(zeros(count))
  v = zeros(count)
  next = 0
  for i in 0..n {
    first = begin[i]
    for p in starts[i]..starts[i + 1] {
      k = columns[p]
      a = values[p]
      for q in starts2[k]..starts2[k + 1] {
        j = columns2[q]
        if at[j] < first {
          at[j] = next
          c[next] = j
          v[next] = a * values2[q]
          next = next + 1
        } else {
          v[at[j]] += a * values2[q]
        }
      }
    }
  }
  (begin, c, v)
}
_diagonal_of(starts, columns, values) = {
  d = zeros(len(starts) - 1)
  for i in 0..len(d) {
    for p in starts[i]..starts[i + 1] { if columns[p] == i { d[i] = values[p] } }
  }
  d
}
# A bound of the largest eigenvalue of the matrix with its rows divided by d:
# some steps of the power method, and a tenth more
_largest_scaled(starts, columns, values, d) = {
  n = len(d)
  x = sin(1.0 + iota(n))
  y = 0 * x
  top = 1.0
  for k in 0..12 {
    square = 0.0
    for i in 0..n {
      s = 0.0
      for p in starts[i]..starts[i + 1] { s = s + values[p] * x[columns[p]] }
      s = s / d[i]
      y[i] = s
      square = square + s * s
    }
    top = sqrt(square)
    x = y / max(top, 1e-300)
  }
  1.1 * top
}

# ---- levels

_hierarchy(column_start, rows, values, node, near_null, most, coarsest, strength) = {
  n = len(column_start) - 1
  (starts, columns, v) = _turned_over(column_start, rows, values, n)
  # whether one way is as good as the other
  same = sum(abs(starts - column_start)) == 0
  if same { same = sum(i64(columns != rows)) == 0 }
  if same { same = max(concat([0.0], abs(v - values))) <= 1e-12 * max(concat([0.0], abs(values))) }
  d = _diagonal_of(starts, columns, v)
  if n > 0 { if not (min(abs(d)) > 0) { error("amg: there is a 0 on the diagonal") } }
  (starts, columns, v) = _without_dust(starts, columns, v, d)
  level = concat([0], [n])
  (all_starts, all_columns, all_values) = (starts, columns, v)
  (P_starts, P_columns, P_values) = ([0], columns[..0], v[..0])
  near = near_null
  count = 1
  going = true
  while going and count < most and n > coarsest {
    (p_starts, p_columns, p_values, near_, node_) =
      _prolongation(starts, columns, v, node, near, strength)
    m = len(node_)
    going = m > 0 and 10m < 9n
    if going {
      (a_starts, a_columns, a_values) =
        _multiplied(starts, columns, v, p_starts, p_columns, p_values, m)
      (r_starts, r_columns, r_values) = _turned_over(p_starts, p_columns, p_values, m)
      (c_starts, c_columns, c_values) =
        _multiplied(r_starts, r_columns, r_values, a_starts, a_columns, a_values, m)
      (t_starts, t_columns, t_values) = _turned_over(c_starts, c_columns, c_values, m)
      (starts, columns, v) = _turned_over(t_starts, t_columns, t_values, m)
      if same { v = 0.5 * (v + t_values) }
      (offset, above) = (level[count], level[count - 1])
      P_starts = concat(P_starts, p_starts[1..] + P_starts[above])
      P_columns = concat(P_columns, p_columns + offset)
      P_values = concat(P_values, p_values)
      all_starts = concat(all_starts, starts[1..] + all_starts[offset])
      all_columns = concat(all_columns, columns + offset)
      all_values = concat(all_values, v)
      level = concat(level, [offset + m])
      (node, near, n) = (node_, near_, m)
      strength = 0.5 * strength
      count = count + 1
    }
  }
  (t_starts, t_columns, t_values) = _turned_over(starts, columns, v, n)
  coarse =
    (rows = t_columns, columns = repeat(iota(n), t_starts[1..] - t_starts[..-1]), values = t_values,
      column_start = t_starts, row_start = starts)
  forth = _with_diagonal(all_starts, all_columns, all_values)
  back = if same {
    forth
  } else {
    _with_diagonal(..._turned_over(all_starts, all_columns, all_values, len(all_starts) - 1))
  }
  (level = level, by_rows = forth, by_columns = back,
    P = (starts = P_starts, columns = P_columns, values = P_values), coarse = coarse)
}
# Elements that rounding left
_without_dust(starts, columns, values, d) = {
  (begin, c, v) = (starts, columns, values)
  next = 0
  for i in 0..len(d) {
    for p in starts[i]..starts[i + 1] {
      j = columns[p]
      if values[p]^2 > 1e-28 * abs(d[i] * d[j]) {
        c[next] = j
        v[next] = values[p]
        next = next + 1
      }
    }
    begin[i + 1] = next
  }
  (begin, c[..next], v[..next])
}
# Where in each row its diagonal element stands, and its inverse
_with_diagonal(starts, columns, values) = {
  n = len(starts) - 1
  at = i64(zeros(n))
  inverse = zeros(n)
  for i in 0..n {
    for p in starts[i]..starts[i + 1] {
      if columns[p] == i {
        at[i] = p
        inverse[i] = 1 / values[p]
      }
    }
  }
  (starts = starts, columns = columns, values = values, at = at, inverse = inverse)
}

# From a matrix by rows, the nodes of its unknowns and what it makes small: the
# prolongation from the next level by rows, and what is small there, and the
# nodes there
_prolongation(starts, columns, values, node, near, strength) = {
  d = _diagonal_of(starts, columns, values)
  (which, count) = _aggregates(..._strong(starts, columns, values, node, strength))
  aggregate = which[node]
  (T, place, near_, node_) = _tentative(aggregate, count, near)
  k = shape(near)[1]
  (F, f) =
    if k == 1 { _filtered(starts, columns, values, d, near[.., 0], strength) } else { (values, d) }
  # damped by 4/3 of the inverse of the largest eigenvalue
  damping = (4 / 3) / _largest_scaled(starts, columns, F, f)
  n = len(d)
  m = len(node_)
  mark = i64(zeros(m + 1)) - 1
  begin = i64(zeros(n + 1))
  total = 0
  for i in 0..n {
    for p in starts[i]..starts[i + 1] {
      a = aggregate[columns[p]]
      if a >= 0 and F[p] != 0 {
        for e in 0..k {
          j = place[a, e]
          new = j >= 0 and mark[j] != i
          if new { mark[j] = i; total = total + 1 }
        }
      }
    }
    begin[i + 1] = total
  }
  at = i64(zeros(m + 1)) - 1
  c = i64(zeros(total))
  v = zeros(total)
  next = 0
  for i in 0..n {
    first = begin[i]
    for p in starts[i]..starts[i + 1] {
      u = columns[p]
      a = aggregate[u]
      w = (if u == i { 1.0 } else { 0.0 }) - damping * F[p] / f[i]
      if a >= 0 and F[p] != 0 {
        for e in 0..k {
          j = place[a, e]
          new = j >= 0 and at[j] < first
          if new {
            at[j] = next
            c[next] = j
            next = next + 1
          }
          if j >= 0 { v[at[j]] += w * T[u, e] }
        }
      }
    }
  }
  (begin, c, v, near_, node_)
}
# The matrix without its weak elements, which join the diagonal so that what was
# made small still is; where too little would be left there, the row stays
_filtered(starts, columns, values, d, near, strength) = {
  F = values
  f = d
  least = strength^2
  for i in 0..len(d) {
    weak = 0.0
    on = -1
    for p in starts[i]..starts[i + 1] {
      j = columns[p]
      if j == i {
        on = p
      } else if values[p]^2 <= least * abs(d[i] * d[j]) {
        weak = weak + values[p] * near[j]
      }
    }
    weak = if near[i] != 0 { weak / near[i] } else { 0.0 }
    fine = abs(d[i] + weak) > 0.2 * abs(d[i]) and abs(weak) < 4 * abs(d[i])
    if fine {
      for p in starts[i]..starts[i + 1] {
        j = columns[p]
        if j != i and values[p]^2 <= least * abs(d[i] * d[j]) { F[p] = 0.0 }
      }
      F[on] = d[i] + weak
      f[i] = d[i] + weak
    }
  }
  (F, f)
}
# The graph of nodes that depend on each other strongly: of each its neighbours
_strong(starts, columns, values, node, strength) = {
  n = len(node)
  N = max(node) + 1
  first = _starts(node, N)
  list_ = argsort(node)
  # squared norms of the blocks on the diagonal
  own = zeros(N)
  for i in 0..n {
    for p in starts[i]..starts[i + 1] {
      if node[columns[p]] == node[i] { own[node[i]] += values[p]^2 }
    }
  }
  own = sqrt(own)
  begin = i64(zeros(N + 1))
  to = 0 * columns
  weight = 0 * values
  at = i64(zeros(N)) - 1
  next = 0
  for a in 0..N {
    from = next
    for s in first[a]..first[a + 1] {
      i = list_[s]
      for p in starts[i]..starts[i + 1] {
        b = node[columns[p]]
        if b != a and at[b] < from {
          at[b] = next
          to[next] = b
          weight[next] = 0.0
          next = next + 1
        }
        if b != a { weight[at[b]] += values[p]^2 }
      }
    }
    kept = from
    for q in from..next {
      b = to[q]
      at[b] = -1
      if weight[q] > strength^2 * own[a] * own[b] {
        to[kept] = b
        weight[kept] = weight[q]
        kept = kept + 1
      }
    }
    next = kept
    begin[a + 1] = next
  }
  (begin, to, weight)
}
# Neighbourhoods: first those that are whole, then neighbours of these, then
# what is left. A node without neighbours is in none: sweeps do for it.
_aggregates(starts, to, weight) = {
  n = len(starts) - 1
  which = i64(zeros(n)) - 1
  count = 0
  for j in 0..n {
    open = which[j] < 0 and starts[j] < starts[j + 1]
    for p in starts[j]..starts[j + 1] { if which[to[p]] >= 0 { open = false } }
    if open {
      which[j] = count
      for p in starts[j]..starts[j + 1] { which[to[p]] = count }
      count = count + 1
    }
  }
  first = which
  for j in 0..n {
    best = 0.0
    if first[j] < 0 {
      for p in starts[j]..starts[j + 1] {
        i = to[p]
        if first[i] >= 0 and weight[p] > best {
          best = weight[p]
          which[j] = first[i]
        }
      }
    }
  }
  for j in 0..n {
    alone = which[j] < 0 and starts[j] < starts[j + 1]
    if alone {
      which[j] = count
      for p in starts[j]..starts[j + 1] { if which[to[p]] < 0 { which[to[p]] = count } }
      count = count + 1
    }
  }
  (which, count)
}
# What is small, made orthonormal on each aggregate by Gram and Schmidt's
# method: a matrix, the number that each of its columns on each aggregate has on
# the next level, or -1 where it depends on those before, and what is small
# there
_tentative(aggregate, count, near) = {
  (n, k) = shape(near)
  T = near
  outside = i64(aggregate < 0)
  first = _starts(aggregate + 1, count + 1)
  list_ = argsort(aggregate)
  place = i64(zeros(count, k)) - 1
  small = zeros(count * k, k)
  node = i64(zeros(count * k))
  next = 0
  for a in 0..count {
    for e in 0..k {
      whole = 0.0
      for s in first[a + 1]..first[a + 2] { whole = whole + T[list_[s], e]^2 }
      for g in 0..e {
        j = place[a, g]
        end = if j >= 0 { first[a + 2] } else { first[a + 1] }
        dot = 0.0
        for s in first[a + 1]..end { dot = dot + T[list_[s], g] * T[list_[s], e] }
        if j >= 0 { small[j, e] = dot }
        for s in first[a + 1]..end { T[list_[s], e] -= dot * T[list_[s], g] }
      }
      left = 0.0
      for s in first[a + 1]..first[a + 2] { left = left + T[list_[s], e]^2 }
      size = sqrt(left)
      new = left > 1e-16 * whole and left > 0
      if new {
        for s in first[a + 1]..first[a + 2] { T[list_[s], e] = T[list_[s], e] / size }
        small[next, e] = size
        place[a, e] = next
        node[next] = a
        next = next + 1
      }
    }
  }
  (T, place, small[..next], node[..next])
}

# ---- the cycle

_v_cycle(H, A, coarse, sweeps, r) = {
  (level, P) = (H.level, H.P)
  last = len(level) - 2
  b = zeros(level[last + 1])
  b[..len(r)] = r
  x = 0 * b
  for l in 0..last {
    # from 0: elements above the diagonal meet zeros
    for i in level[l]..level[l + 1] {
      s = b[i]
      for p in A.starts[i]..A.at[i] { s = s - A.values[p] * x[A.columns[p]] }
      x[i] = s * A.inverse[i]
    }
    for t in 1..sweeps {
      for i in level[l]..level[l + 1] {
        s = b[i]
        for p in A.starts[i]..A.starts[i + 1] { s = s - A.values[p] * x[A.columns[p]] }
        x[i] += s * A.inverse[i]
      }
    }
    # what is left; after one sweep the elements above the diagonal say it
    for i in level[l]..level[l + 1] {
      s = if sweeps == 1 { 0.0 } else { b[i] }
      from = if sweeps == 1 { A.at[i] + 1 } else { A.starts[i] }
      for p in from..A.starts[i + 1] { s = s - A.values[p] * x[A.columns[p]] }
      for q in P.starts[i]..P.starts[i + 1] { b[P.columns[q]] += P.values[q] * s }
    }
  }
  x[level[last]..] = linsolve(coarse, b[level[last]..])
  for k in 0..last {
    l = last - 1 - k
    for i in level[l]..level[l + 1] {
      s = x[i]
      for q in P.starts[i]..P.starts[i + 1] { s = s + P.values[q] * x[P.columns[q]] }
      x[i] = s
    }
    for t in 0..sweeps {
      for u in 0..level[l + 1] - level[l] {
        i = level[l + 1] - 1 - u
        s = b[i]
        for p in A.starts[i]..A.starts[i + 1] { s = s - A.values[p] * x[A.columns[p]] }
        x[i] += s * A.inverse[i]
      }
    }
  }
  x[..len(r)]
}
