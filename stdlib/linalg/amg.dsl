# amg.dsl - algebraic multigrid (smoothed aggregation) as a preconditioner.
#
# Method: smoothed aggregation (Vaněk, Mandel and Brezina, Computing 56, 1996).
# Strongly connected unknowns form aggregates. The near-null space of the matrix
# (a constant; rigid body modes), restricted to each aggregate and smoothed
# once, gives the columns of the prolongation P. The next coarser matrix is P' A
# P. Gauss-Seidel sweeps leave errors of this form, so the number of iterations
# hardly grows with the size of the matrix.
#
# Data layout: all levels are stored contiguously. The matrices are the diagonal
# blocks of one row-compressed matrix; unknowns and right-hand sides are parts
# of one vector; the columns of a prolongation are in the next part. The number
# of levels is therefore dynamic, and a cycle is a loop over the parts. All code
# is loops over elements, which compile to machine code.

# amg(A; levels, coarsest, strength, sweeps, near_null, nodes): smoothed
# aggregation for a sparse matrix, as a preconditioner for cg, minres, gmres and
# bicgstab.
#   A is symmetric positive definite, as for diffusion or elasticity. With a
#   matrix close to such a one it also preconditions gmres and bicgstab.
#   near_null: the near-null space of A, a vector or the columns of a matrix; by
#   default the constant 1. For elasticity use rigid_modes. nodes: i64[n], the
#   node of each unknown; unknowns of a node stay together.
#   levels: the maximal number of matrices; the last one is factorised.
#   coarsest: the number of unknowns below which a matrix is factorised.
#   strength: the threshold for strong elements, relative to the square root of
#   the product of their diagonal elements (for nodes, of the norms of their
#   blocks). It is halved from level to level. sweeps: the number of
#   Gauss-Seidel sweeps, forward before and backward after the coarser levels.
#   The result is a record: apply and adjoint, for the solvers; sizes, the
#   unknowns of each level; complexity, the number of elements of all matrices
#   divided by that of A.
#   The cycles are symmetric V-cycles. They have no derivatives: a
#   preconditioner does not change the solution. Time and memory are
#   proportional to the elements of A. Memory holds the matrices of all levels,
#   and the largest a second time during the setup.
#   Errors: a matrix that is not square, a diagonal that is not positive,
#   near_null or nodes with a wrong extent. [Vaněk, Mandel and Brezina,
#   Computing 56, 1996]
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
# An empty hierarchy, for programs that decide at run time whether to use one.
_no_hierarchy() = {
  (i, v) = (i64(zeros(0)), zeros(0))
  A = (starts = [0], columns = i, values = v, at = i, inverse = v)
  (level = [0, 0], by_rows = A, by_columns = A, P = (starts = [0], columns = i, values = v),
    coarse = (rows = i, columns = i, values = v, column_start = [0], row_start = [0]))
}

# rigid_modes(places, components): the rigid body modes, the null space of
# elasticity, as the columns that amg takes as near_null.
#   places: f64[n, d], the position of each unknown, d = 2 or 3. components:
#   i64[n], the displacement component of each unknown. Columns: d translations,
#   then 1 or 3 rotations about the centre.
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
# A rotation about the centre in the plane of each pair of coordinates.
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

# ---- row-compressed matrices: starts, columns, values

# Converts a row-compressed matrix to column-compressed form with m columns (a
# transposition). The elements of each column are in order.
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
# The product of two row-compressed matrices, with m columns. The columns of a
# row are unordered. Each row is accumulated by Gustavson's algorithm with a
# marker array.
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
# An estimate of the largest eigenvalue of the matrix with its rows divided by
# d: some power iterations, enlarged by a tenth.
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
  # whether the matrix is symmetric
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
# Removes elements that are rounding errors.
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
# The position of the diagonal element in each row, and its inverse.
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

# From a row-compressed matrix, the nodes of its unknowns and its near-null
# space: the row-compressed prolongation from the next level, and the near-null
# space and nodes of that level.
_prolongation(starts, columns, values, node, near, strength) = {
  d = _diagonal_of(starts, columns, values)
  (which, count) = _aggregates(..._strong(starts, columns, values, node, strength))
  aggregate = which[node]
  (T, place, near_, node_) = _tentative(aggregate, count, near)
  k = shape(near)[1]
  (F, f) =
    if k == 1 { _filtered(starts, columns, values, d, near[.., 0], strength) } else { (values, d) }
  # Damping: 4/3 of the inverse of the largest eigenvalue.
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
# The matrix without its weak elements. They are lumped to the diagonal such
# that the near-null vector is preserved. A row whose diagonal would become too
# small stays unchanged.
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
# The graph of strong connections between nodes: the neighbours of each node.
_strong(starts, columns, values, node, strength) = {
  n = len(node)
  N = max(node) + 1
  first = _starts(node, N)
  list_ = argsort(node)
  # squared norms of the diagonal blocks
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
# Aggregation in three passes: (1) complete neighbourhoods without aggregated
# nodes; (2) remaining nodes join a neighbouring aggregate; (3) the others form
# new aggregates. A node without neighbours is in none: the sweeps suffice for
# it.
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
# Orthonormalises the near-null space on each aggregate by Gram-Schmidt. Returns
# the tentative prolongation, the index of each column of each aggregate on the
# next level (-1 for a dependent column), the near-null space there and the
# nodes there.
_tentative(aggregate, count, near) = {
  (n, k) = shape(near)
  T = near
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
    # the initial guess is 0, so elements above the diagonal do not contribute
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
    # The residual. After one sweep it consists of the elements above the
    # diagonal alone.
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
