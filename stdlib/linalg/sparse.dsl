# sparse.dsl - sparse matrices, and sparse derivatives: pattern, colouring,
# compressed evaluation.
#
# A sparse matrix is a record of arrays in compressed column form. Its elements
# are stored column after column, with ascending rows within each:
#   rows, columns   i64[nnz], the row and column of each element
#   values          [nnz]
#   column_start    i64[n + 1], where each column begins, and the last ends
#   row_start       i64[m + 1], where each row would begin in row-major order
# The numbers of rows and columns are thus extents, and one function of such
# matrices serves all sizes. All operations on records work on sparse matrices.
# A @ x, A', A + B, 2A and similar operators have their matrix meaning.

# sparsity(f, x): the pattern of the derivative of f with respect to x: all
# elements that can be nonzero at any x of these extents. The result is a record
# that jacobian(f; sparse = ...) takes: rows, columns, column_start, row_start
# as in a sparse matrix; colour (of each column, -1 where rows give all its
# elements); and further data for the evaluation. explain(p) describes its cost.
#   symmetric = true: f is a gradient. Elements may then be recovered from
#   others along a tree (acyclic colouring), with rounding errors below 1e-12 of
#   the largest element of the tree. direct = true recovers each from one
#   product.
#   An index or an extent in f may depend on captured values. An index that
#   depends on x makes a dense row; an extent that does is an error.
#     p = sparsity(u -> u[1..] - u[..-1], zeros(5));
#     print(p.columns)
#     #> [0, 1, 1, 2, 2, 3, 3, 4]
sparsity(f, x; symmetric = false, direct = false) =
  if kind(x) == "array" { _pattern(f, (x,), 0, symmetric, direct) } else {
    (v, back) = flatten(x)
    _pattern(w -> _flat(f(back(w))), (v,), 0, symmetric, direct)
  }
_flat(y) = if kind(y) == "array" { y } else { flatten(y)[0] }

# The pattern of f(...args) with respect to argument `which`, valid for all
# values of the arguments.
_pattern(f, args, which, symmetric, direct = false) = {
  kept = map(k -> if k == which { zeros(...shape(args[k])) } else { args[k] }, (...(0..len(args))))
  r = _host("sparsity", ((f, args),), kept,
    (which, if symmetric { if direct { 2 } else { 1 } } else { 0 }))
  (rows = r[0], columns = r[1], column_start = r[2], row_start = r[3], place = r[4], colour = r[5],
    group_sizes = r[6], heavy = r[7], heavy_colour = r[8], heavy_sizes = r[9], term = r[10],
    part_of = r[11], most_terms = r[12])
}

# The cost of the evaluation on pattern p, as a string.
_explain_pattern(p) = {
  products = len(p.group_sizes)
  rows = len(p.heavy_sizes)
  text =
    ("{len(p.row_start) - 1} by {len(p.column_start) - 1}, {len(p.rows)} elements: {products} "
      "products with the derivative")
  if rows > 0 { text = "{text}, {rows} with its transpose for {len(p.heavy)} of the rows" }
  if len(p.term) > 0 {
    text = "{text}; acyclic colouring, {len(p.term)} sums of at most {p.most_terms[0]} terms"
  }
  if len(p.row_start) == len(p.column_start) { "{text}; {_explain_systems(p)}" } else { text }
}
# How linear systems with such a matrix and a shifted diagonal are solved in
# time stepping, and why.
_explain_systems(p) = {
  (plan, _, _) = _host("shifted_plan", (), (p.column_start, p.rows), (0,))
  (way, below, above, ordered, banded, other) =
    (plan[3], plan[4], plan[5], plan[6], plan[10], plan[11])
  band =
    ("{below} {if below == 1 { "diagonal" } else { "diagonals" }} below and {above} above the main "
      "one")
  if ordered > 0 { band = "{band} in reverse Cuthill-McKee order" }
  times = if other < 0 {
    ""
  } else {
    (" ({(banded + 500) // 1000} µs for a factorisation and 8 solves, by sparse factors "
      "{(other + 500) // 1000})")
  }
  if way == 1 { "systems: banded, {band}{times}" } else {
    ("systems: sparse "
      "factors{if plan[12] > 0 { " by fronts (UMFPACK)" } else { "" }}{if plan[13] > 0 {
      ", of bdf() GMRES with incomplete factors"
    } else { "" }}; a band would have {band}{times}")
  }
}

_sparse_jacobian(f, x) = if kind(x) == "array" { _jacobian_on(f, x, sparsity(f, x)) } else {
  (v, back) = flatten(x)
  _sparse_jacobian(w -> _flat(f(back(w))), v)
}
_sparse_hessian(f, x) =
  if kind(x) == "array" { _jacobian_on(grad(f), x, sparsity(grad(f), x; symmetric = true)) } else {
    (v, back) = flatten(x)
    _sparse_hessian(w -> f(back(w)), v)
  }

# The derivative of f at x on pattern p, as a sparse matrix.
_jacobian_on(f, x, p) =
  (rows = p.rows, columns = p.columns, values = _compressed(f, x, p), column_start = p.column_start,
    row_start = p.row_start)

# The values: derivative products with the sum of the columns of each colour.
# Dense rows use products of the transpose with sums of such rows. Elements are
# then read off, or recovered by sums of these.
#
# Each branch ends with the elements, whose number is static: a loop that
# contains this code then has no extents of its own.
_compressed(f, x, p) = if len(p.heavy_sizes) == 0 { _recovered(_forward(f, x, p), p) } else {
  (y, pull) = vjp(f, x)
  row = w -> ravel(pull(reshape(w, shape(y))))
  # the cotangent of a real x is the real part of conj(w) J
  whole = if _is_real(y) { row } else { w -> row(w) + im * row(im * w) }
  backward = reshape(map(whole, _seeds(p.heavy_colour, p.heavy, len(p.heavy_sizes), size(y))), -1)
  if len(p.group_sizes) == 0 {
    _recovered(backward, p)
  } else {
    _recovered(concat(_forward(f, x, p), backward), p)
  }
}
_recovered(direct, p) = if len(p.term) == 0 { direct[p.place] } else {
  concat(direct, _host("tree_sums", (), (direct[p.term], p.part_of), (0,))[0])[p.place]
}
_forward(f, x, p) = {
  (y, push) = linearize(f, x)
  reshape(map(dx -> ravel(push(reshape(dx, shape(x)))),
    _seeds(p.colour, iota(size(x)), len(p.group_sizes), size(x))), -1)
}
_seeds(colour, at, groups, n) = {
  s = zeros(groups, n)
  s[colour, at] = 1.0
  s
}

# dense(A): a sparse matrix as a dense one
#     dense(sparse([0, 1], [1, 0], [5.0, 6], 2, 2))    #> [[0, 5], [6, 0]]
dense(A) = {
  _want_stored("dense", A)
  D = sum(A.values[..0]) + zeros(len(A.row_start) - 1, len(A.column_start) - 1)
  D[A.rows, A.columns] = A.values
  D
}

# sparse(rows, columns, values, m, n): the m by n sparse matrix with these
# elements. Elements with the same row and column are summed.
#     A = sparse([0, 1, 1], [0, 0, 1], [2.0, 1, 4], 2, 2);
#     A @ [1.0, 2]                   #> [2, 9]
#     linsolve(A, [2.0, 9])          #> [1, 2]
sparse(rows, columns, values, m, n) = {
  assert(len(rows) == len(values) and len(columns) == len(values),
    "sparse(rows, columns, values, m, n) takes as many rows and columns as values")
  outside = sum(i64((rows < 0) or (rows >= m))) + sum(i64((columns < 0) or (columns >= n)))
  assert(outside == 0,
    "{outside} of the rows and columns are out of range for a sparse matrix of {m} by {n}")
  key = i64(columns) * m + i64(rows)
  order = argsort(key)
  sorted = key[order]
  first = sorted != concat([-1], sorted)[..len(sorted)]
  kept = sorted[first]
  r = kept % m
  c = kept // m
  v = values[order]
  total = sum(v[..0]) + zeros(len(kept))
  total[cumsum(i64(first)) - 1] += v
  (rows = r, columns = c, values = total, column_start = _starts(c, n), row_start = _starts(r, m))
}
# speye(n): the sparse identity matrix
#     dense(speye(2))               #> [[1, 0], [0, 1]]
speye(n) =
  (rows = iota(n), columns = iota(n), values = ones(n), column_start = iota(n + 1),
    row_start = iota(n + 1))
# spdiags(diagonals, offsets, m, n = m): the sparse m by n matrix with these
# vectors on its diagonals. Offset 0 is the main diagonal, 1 the one above, -1
# the one below.
#   A diagonal is a vector of the exact extent of that diagonal, or a scalar for
#   all its elements.
#     dense(spdiags((-2, 1, 1), (0, 1, -1), 3))     #> [[-2, 1, 0], [1, -2, 1], [0, 1, -2]]
spdiags(diagonals, offsets, m, n = none) = {
  width = if kind(n) == "none" { m } else { n }
  rows = list()
  columns = list()
  values = list()
  for (k, d) in enumerate(diagonals) {
    o = offsets[k]
    length = max(0, min(m + min(o, 0), width - max(o, 0)))
    if rank(d) == 1 { assert(len(d) == length, "diagonal {o} has {length} elements, not {len(d)}") }
    rows = push(rows, iota(length) - min(o, 0))
    columns = push(columns, iota(length) + max(o, 0))
    values = push(values, if rank(d) == 0 { full(d + 0.0, length) } else { d + 0.0 })
  }
  sparse(concat(rows), concat(columns), concat(values), m, width)
}
# to_sparse(A): the nonzero elements of a matrix, as a sparse matrix.
#   The pattern depends on the values and has no derivative; the values have
#   one.
#     to_sparse([0, 5; 6, 0]).values      #> [6, 5]
to_sparse(A) = if kind(A) == "sparse" { A } else {
  _want_matrix("to_sparse", A)
  (m, n) = shape(A)
  (i, j) = nonzero(stop_gradient(A))
  sparse(i, j, A[i, j], m, n)
}
# nnz(A): number of stored elements of a sparse matrix
#     nnz(speye(3))                 #> 3
nnz(A) = {
  _want_stored("nnz", A)
  len(A.values)
}
_want_stored(who, A) = if kind(A) != "sparse" {
  _refuse(
    "{who} takes a sparse matrix, not {_axes_in_words(A)}; to_sparse(A) makes one of a matrix")
}

# Start index of each of n ordered groups, and the end of the last; at[k] is the
# group of element k.
_starts(at, n) = {
  count = i64(zeros(n + 1))
  count[at + 1] += 1
  cumsum(count)
}

_sparse_shape(A) = (len(A.row_start) - 1, len(A.column_start) - 1)
_sparse_scaled(A, s) =
  if kind(s) == "sparse" {
    if kind(A) == "sparse" { _sparse_by_elements(A, s) } else { _sparse_scaled(s, A) }
  } else {
    assert(rank(s) == 0,
      "* scales a sparse matrix by a number; @ is its product with vectors and matrices")
    (...A, values = A.values * s)
  }
# A * B: the elements stored in both, which are in column order in both.
_sparse_by_elements(A, B) = {
  (m, n) = shape(A)
  (k, l) = shape(B)
  assert(m == k and n == l,
    "cannot multiply sparse matrices of {m} by {n} and {k} by {l} element by element")
  (p, q) = (A.columns * m + A.rows, B.columns * m + B.rows)
  both = isin(q, p)
  at = searchsorted(p, q[both]; side = "left")
  sparse(A.rows[at], A.columns[at], A.values[at] * B.values[both], m, n)
}
_sparse_diagonal(A, k) = {
  (m, n) = shape(A)
  on = A.columns - A.rows == k
  _rows_summed(A.values[on], A.rows[on] + min(k, 0), max(0, min(m + min(k, 0), n - max(k, 0))))
}
_sparse_sum(A, axis) = if kind(axis) == "none" { sum(A.values) } else {
  (m, n) = shape(A)
  if axis % 2 == 0 {
    _rows_summed(A.values, A.columns, n)
  } else {
    _rows_summed(A.values, A.rows, m)
  }
}
# A[i, j]. Two scalars give an element; otherwise the result is a sparse
# submatrix, or a vector when one index is a scalar. i and j are scalars,
# vectors of indices or conditions, or the ends and step of a range, with none
# where it is open.
_sparse_item(A, i, j) = {
  (m, n) = shape(A)
  one = x -> if kind(x) == "array" { rank(x) == 0 } else { false }
  (r, c) = (_places(i, m), _places(j, n))
  picked = (rows, k) -> sparse(iota(len(k)), k, ones(len(k)), len(k), rows)
  P = _sparse_product(_sparse_product(picked(m, r), A), _sparse_adjoint(picked(n, c)))
  if one(i) { if one(j) { sum(P.values) } else { _rows_summed(P.values, P.columns, len(c)) } }
  else if one(j) { _rows_summed(P.values, P.rows, len(r)) }
  else { P }
}
_places(i, n) = if kind(i) == "array" {
  k = if dtype(i) == "bool" { findall(i) } else { reshape(i, -1) }
  outside = sum((k < -n) or (k >= n))
  assert(outside == 0, "{outside} of the indices are out of range for a length of {n}")
  where(k < 0, k + n, k)
} else {
  (a, b, s) = i
  by = if kind(s) == "none" { 1 } else { s }
  from = if kind(a) == "none" {
    if by > 0 { 0 } else { n - 1 }
  } else {
    if a < 0 { a + n } else { a }
  }
  to = if kind(b) == "none" { if by > 0 { n } else { -1 } } else { if b < 0 { b + n } else { b } }
  collect(from..to by by)
}
_sparse_over(A, s) = {
  assert(kind(A) == "sparse" and rank(s) == 0,
    "/ divides a sparse matrix by a number; linsolve(A, b) solves a system")
  (...A, values = A.values / s)
}
_sparse_plus(A, B) = {
  assert(kind(A) == "sparse" and kind(B) == "sparse",
    "a sparse matrix is added to a sparse matrix; dense(A) has its zeros")
  (m, n) = shape(A)
  (k, l) = shape(B)
  assert(m == k and n == l, "cannot add sparse matrices of {m} by {n} and {k} by {l}")
  sparse(concat(A.rows, B.rows), concat(A.columns, B.columns), concat(A.values, B.values), m, n)
}
_sparse_minus(A, B) = _sparse_plus(A, -B)
_sparse_transpose(A) = _sparse_adjoint((...A, values = conj(A.values)))
_sparse_adjoint(A) = {
  order = argsort(A.rows)
  (rows = A.columns[order], columns = A.rows[order], values = conj(A.values)[order],
    column_start = A.row_start, row_start = A.column_start)
}
_sparse_times(A, x) = if kind(A) == "sparse" and kind(x) == "sparse" {
  _sparse_product(A, x)
} else if kind(A) == "sparse" {
  (m, n) = shape(A)
  assert(len(x) == n, "cannot multiply a sparse matrix of {m} by {n} by an array of {len(x)} rows")
  _rows_summed((if rank(x) == 1 { A.values } else { expand(A.values, 1) }) * x[A.columns], A.rows,
    m)
} else {
  (m, n) = shape(x)
  assert(shape(A)[-1] == m,
    "cannot multiply an array of {shape(A)[-1]} columns by a sparse matrix of {m} by {n}")
  if rank(A) == 1 {
    _rows_summed(x.values * A[x.rows], x.columns, n)
  } else {
    _rows_summed(expand(x.values, 1) * A'[x.rows], x.columns, n)'
  }
}
# A @ B: each element of A is multiplied by the row of B that its column
# selects.
_sparse_product(A, B) = {
  (m, n) = shape(A)
  (k, l) = shape(B)
  assert(n == k, "cannot multiply a sparse matrix of {m} by {n} by one of {k} by {l}")
  by_rows = argsort(B.rows)
  meets = B.row_start[A.columns + 1] - B.row_start[A.columns]
  of = repeat(iota(len(A.values)), meets)
  within = iota(len(of)) - repeat(cumsum(meets) - meets, meets)
  at = by_rows[B.row_start[A.columns[of]] + within]
  sparse(A.rows[of], B.columns[at], A.values[of] * B.values[at], m, l)
}
_sparse_kron(A, B) = {
  (S, T) = (to_sparse(A), to_sparse(B))
  (m, n) = shape(S)
  (p, q) = shape(T)
  at = (a, b) -> ravel(expand(a, 1) + b)
  sparse(at(S.rows * p, T.rows), at(S.columns * q, T.columns), ravel(outer(S.values, T.values)),
    m * p, n * q)
}
# The rows of v summed by the target index `at` of each, into m rows.
_rows_summed(v, at, m) = {
  y = sum(v[..0]) + (if rank(v) == 1 { zeros(m) } else { zeros(m, shape(v)[1]) })
  y[at] += v
  y
}
_sparse_solve(A, b) = _sparse_solve_by(A, b, 0)
_sparse_solve_by(A, b, method) = {
  (m, n) = shape(A)
  assert(m == n and len(b) == n,
    "a sparse system of {m} by {n} has no right-hand side of {len(b)} rows")
  _host("sparse_solve", (), (A.column_start, A.rows, A.columns, f64(A.values), f64(b)),
    (0, method))[0]
}
# factorisations(): (made, found): the number of sparse factorisations of this
# process, and the number of times that cached factors were reused
#     A = spdiags((3.0, -1.0), (0, 1), 5);
#     x = linsolve(A, ones(5));
#     (before, _) = factorisations()
#     x = x + linsolve(A, x) + linsolve(A, 2x);
#     factorisations()[0] - before  #> 0
factorisations() = { n = _host("sparse_count", (), (), ())[0]; (n[0], n[1]) }
# The method codes of solvers/linear/factor_cache.h.
_factor_method(name) =
  if name == "auto" {
    0
  } else if name == "klu" {
    1
  } else if name == "umfpack" {
    2
  } else if name == "cholmod" {
    3
  } else {
    error("factor: a method is \"auto\", \"klu\", \"umfpack\" or \"cholmod\"")
  }

# Least squares by a sparse QR factorisation, which also gives the adjoint: x =
# A^+ b, and y = (A^+)' w, the minimum norm y with A'y = w.
_sparse_lstsq(A, b) = {
  (m, n) = shape(A)
  assert(len(b) == m, "a sparse matrix of {m} rows has no right-hand side of {len(b)}")
  right = f64(b)
  if m >= n {
    _least_by(A.column_start, A.rows, A.columns, A.row_start, f64(A.values), right)
  } else {
    T = A'
    _least_norm_by(T.column_start, T.rows, T.columns, T.row_start, f64(T.values), right)
  }
}
_least_by(starts, rows, columns, row_start, values, b) =
  _host("sparse_least", (), (starts, rows, columns, values, b, row_start), (0,))[0]
_least_norm_by(starts, rows, columns, row_start, values, w) =
  _host("sparse_least", (), (starts, rows, columns, values, w, row_start), (1,))[0]
# A'A dx = A'(db - dA x) + dA'(b - A x)
derivative _least_by(starts, rows, columns, row_start, values, b), dstarts, drows, dcolumns,
  drow_start, dvalues, db = {
  A =
    (rows = rows, columns = columns, values = values, column_start = starts, row_start = row_start)
  D = (...A, values = if _absent(dvalues) { 0 * values } else { dvalues })
  outer_part = _least_linear(A, (if _absent(db) { 0 * b } else { db }) - D @ y)
  inner_part = _least_linear(A, _least_norm_linear(A, _sparse_adjoint(D) @ (b - A @ y)))
  outer_part + inner_part
}
# y = A z with A'A z = w: dy = (A^+)'(dw - dA'y) + (1 - A A^+) dA z
derivative _least_norm_by(starts, rows, columns, row_start, values, w), dstarts, drows, dcolumns,
  drow_start, dvalues, dw = {
  A =
    (rows = rows, columns = columns, values = values, column_start = starts, row_start = row_start)
  D = (...A, values = if _absent(dvalues) { 0 * values } else { dvalues })
  t = D @ _least_by(starts, rows, columns, row_start, values, y)
  _least_norm_linear(A, (if _absent(dw) { 0 * w } else { dw }) - _sparse_adjoint(D) @ y) + t -
    A @ _least_linear(A, t)
}
_least_linear(A, b) = {
  (s, r, c, q, v) = (A.column_start, A.rows, A.columns, A.row_start, A.values)
  linear_map(b -> _least_by(s, r, c, q, v, b), w -> _least_norm_by(s, r, c, q, v, w), b)
}
_least_norm_linear(A, w) = {
  (s, r, c, q, v) = (A.column_start, A.rows, A.columns, A.row_start, A.values)
  linear_map(w -> _least_norm_by(s, r, c, q, v, w), b -> _least_by(s, r, c, q, v, b), w)
}
