# fem_assembly.dsl - assembly of a weak form (weak.dsl) on a mesh (mesh.dsl):
# unknowns, cells, and the sparse matrix.
#
# Unknowns are nodal values, component after component. One function of a cell
# yields the residual and the exact Jacobian. It is mapped over all cells, and
# its results are scattered into a sparse matrix whose pattern is computed once.

# ---- data that stays constant during a solve

# Returns the quadrature degree for problems that jump within cells: enough
# points to resolve the part of a cell beyond the jump to a few hundredths.
_degree_for_jumps(d) = if d == 1 { 30 } else if d == 2 { 14 } else { 8 }

_discrete(P, M, m) = {
  (d, cell) = (P.d, P.cell)
  cells = if cell.boxes { M.cells } else { _ascending(M.cells) }
  orders = P.orders
  top = 1
  for k in orders { top = max(top, k) }
  degree = if m.degree > 0 {
    m.degree
  } else if _jumps_across(P.info) {
    max(2 * top, _degree_for_jumps(d))
  } else if top == 1 {
    2
  } else {
    2 * top
  }
  rule = _cell_rule(cell, degree)
  # Unknowns: the first node of each component, and those of each cell.
  starts = list()
  dofs = list()
  places = list()
  total = 0
  (owner, side) =
    if cell.boxes { _grid_sides(M.axes) } else { _owners(cells, M.faces, len(M.points)) }
  corners = M.points[_framed(cell, cells)]
  bent = if m.bend == 1 { corners } else { _bent_places(M, cells, owner, side, m.bend) }
  spaces = map(k -> _drawn_nodes(_nodes(M, cells, k), bent, cell, k, m.bend), each(1, top + 1))
  for k in orders {
    (count, nodes, X) = spaces[k - 1]
    starts = push(starts, total)
    dofs = push(dofs, nodes + total)
    places = push(places, X)
    total = total + count
  }
  counts = map(k -> spaces[k - 1][0], orders)
  X = concat(...places; axis = 0)
  (face_rule, face_points) = _face_rule(cell, degree)
  face_tables = map(k -> {
    e = _element(cell, k)
    stack(...map(F -> _shape_table(e, F), face_points))
  }, orders)
  tables = map(k -> _shape_table(_element(cell, k), rule[0]), orders)
  (mesh = M, cells = cells, corners = corners, rule = rule, tables = tables,
    products = _products(P, tables, degree), starts = (...starts,), counts = (...counts,),
    dofs = concat(...dofs; axis = 1), X = X, total = total, owner = owner, side = side,
    middle = mean(M.points[M.faces]; axis = 1), normals = map((p, s) -> _outer_normal(cell, p, s),
      corners[owner], side), width = max(M.points; axis = 0) -
    min(M.points; axis = 0), face_rule = face_rule, face_points = stack(...face_points),
    bend = m.bend, places = bent, drawing = _drawing(d, m.bend, rule[0]),
    face_drawing = (stack(...map(F -> _shapes(_element(_simplex(d), m.bend), F), face_points)),
      stack(...map(F -> _shape_slopes(_element(_simplex(d), m.bend), F), face_points))),
    face_tables = face_tables, nodes = _path_nodes(m.path),
    coupled = _couplings(P, _path_nodes(m.path),
      if P.info.time >= 0 {
        P.info.lo[P.info.time] + 0.0
      } else {
        0.0
      }, mean(corners[0]; axis = 0)))
}
# Returns the nodes of elements of order k in cells mapped by other nodes.
_drawn_nodes(space, bent, cell, k, g) = if g == 1 { space } else {
  (count, nodes, X) = space
  N = _shapes(_element(cell, g), _node_places(cell, k))
  X[nodes] = map(P -> N @ P, bent)
  (count, nodes, X)
}
_outer_normal(cell, corners, side) = {
  (_, I) = _det_inverse(_directions_of(corners), cell.d)
  g = _inward_slopes(cell, I)[side]
  -g / norm(g)
}

# Returns the offset of each component among a cell's unknowns, and their total.
_local_starts(P) = {
  out = list()
  at = 0
  for k in P.orders { out = push(out, at); at = at + _node_count(P.cell, k) }
  push(out, at)
}

# Returns values and derivatives of shape functions at points of the reference
# cell: f64[n, nb, 1 + d].
_shape_table(el, ξ) = concat(expand(_shapes(el, ξ), 2), _shape_slopes(el, ξ); axis = 2)
# Returns for each two components the contribution of each element of a form at
# each point to a cell's matrix, by rows: f64[nb nb, n, 1 + d, 1 + d]; none
# where this is too large.
_products(P, tables, degree) = {
  many = map(k -> _node_count(P.cell, k), P.orders)
  points = ((_known(degree, "the degree") + 2) // 2)^P.d
  pair = (r, c) -> if many[r] * many[c] * points * (1 + P.d)^2 > 2^22 { none } else {
    (A, B) = (tables[r], tables[c])
    reshape([A[q, i, a] * B[q, j, b] for i, j, q, a, b], many[r] * many[c], shape(A)[0], 1 + P.d,
      1 + P.d)
  }
  (...map(r -> (...map(c -> pair(r, c), each(P.nc)),), each(P.nc)),)
}

# ---- cells

# Returns the transformation of values and derivatives from reference to
# physical coordinates, f64[1 + d, 1 + d], for curved cells one at each point.
# Forms are evaluated in reference coordinates, where shape functions are the
# same in all cells.
_turning(I) = if rank(I) == 2 {
  d = shape(I)[0]
  concat(expand(concat([1.0], zeros(d)), 0), concat(zeros(d, 1), I; axis = 1); axis = 0)
} else { map(_turning, I) }
_at_points(P, T, F, U) = {
  s = _local_starts(P)
  z =
    stack(...map(c -> { B = T[c]; u = U[s[c]..s[c + 1]]; [sum(B[q, i, a] * u[i] for i) for q, a] },
      each(P.nc));
      axis = 1)
  if rank(F) == 2 {
    [sum(z[q, c, b] * F[b, a] for b) for q, c, a]
  } else {
    [sum(z[q, c, b] * F[q, b, a] for b) for q, c, a]
  }
}

# Returns the data at the quadrature points of a cell: weights, the
# transformation of derivatives, points, values and derivatives, rates.
_cell_points(P, D, places, U, V) = {
  (det, I, x) = _drawn(D, places, ...D.drawing)
  F = _turning(I)
  (D.rule[1] * abs(det), F, x, _at_points(P, D.tables, F, U),
    _at_points(P, D.tables, F, V)[.., .., 0])
}
# Returns the sums of w f64[n, nc, 1 + d] at the points with each test function.
_tested(P, T, W, F, w) = {
  y = if rank(F) == 2 { [sum(W[q] * w[q, c, a] * F[b, a] for a) for q, c, b] } else {
    [sum(W[q] * w[q, c, a] * F[q, b, a] for a) for q, c, b]
  }
  concat(...map(c -> { B = T[c]; [sum(B[q, i, a] * y[q, c, a] for q, a) for i] }, each(P.nc)))
}
# Returns the sums of J f64[n, nc, 1 + d, nc, 1 + d], or of rates f64[n, nc, 1 +
# d, nc, 1], with each test and each shape function: f64[nl, nl].
_tested_twice(P, T, products, W, F, J) = {
  rates = shape(J)[4] == 1
  blocks = r -> c -> {
    G = J[.., r, .., c, ..]
    H = if rates { if rank(F) == 2 { [sum(W[q] * F[a, e] * G[q, e, b] for e) for q, a, b] } else {
      [sum(W[q] * F[q, a, e] * G[q, e, b] for e) for q, a, b]
    } } else if rank(F) == 2 {
      [sum(W[q] * F[a, e] * G[q, e, f] * F[b, f] for e, f) for q, a, b]
    } else {
      [sum(W[q] * F[q, a, e] * G[q, e, f] * F[q, b, f] for e, f) for q, a, b]
    }
    (A, B) = (T[r], if rates { T[c][.., .., ..1] } else { T[c] })
    K = if kind(products) == "none" { none } else { products[r][c] }
    if kind(K) == "none" { [sum(A[q, i, a] * H[q, a, b] * B[q, j, b] for q, a, b) for i, j] } else {
      L = if rates { K[.., .., .., ..1] } else { K }
      reshape(reshape(L, shape(L)[0], -1) @ ravel(H), shape(A)[1], shape(B)[1])
    }
  }
  concat(...map(r -> concat(...map(blocks(r), each(P.nc)); axis = 1), each(P.nc)); axis = 0)
}

# Returns the residual f64[nl] of one cell and its Jacobian f64[nl, nl].
_cell_forms(P, D, t, lambda, places, U, V) = {
  (W, F, x, z, v) = _cell_points(P, D, places, U, V)
  at = (x, z, v) -> _weak_at(P, D.nodes, t, x, z, v, lambda)
  J = map((x, z, v) -> _jacobian(y -> ravel(at(x, reshape(y, P.nc, 1 + P.d), v)), ravel(z)), x, z,
    v)
  (_tested(P, D.tables, W, F, map(at, x, z, v)),
    _tested_twice(P, D.tables, D.products, W, F, reshape(J, -1, P.nc, 1 + P.d, P.nc, 1 + P.d)))
}
# Returns the derivative of the residual with respect to the rates.
_cell_mass(P, D, t, places, U, V) = {
  (W, F, x, z, v) = _cell_points(P, D, places, U, V)
  J = map((x, z, v) -> _jacobian(y -> ravel(_weak_at(P, D.nodes, t, x, z, y, 0.0)), v), x, z, v)
  _tested_twice(P, D.tables, D.products, W, F, reshape(J, -1, P.nc, 1 + P.d, P.nc, 1))
}

# ---- the matrix

_free_unknowns(D, fixed) = {
  mark = zeros(D.total)
  for q in fixed { mark[q.nodes] = 1.0 }
  (where(mark == 0, cumsum(i64(mark == 0)) - 1, -1), findall(mark == 0))
}

# Returns the sparse matrix (without values) of the free unknowns, and the place
# of each element of each cell's matrix in it. The index past the end is for
# elements that are dropped.
_pattern_of(P, D, fluxes, number, n) = {
  B = D.coupled
  for q in fluxes { B = _coupled_by_flux(P, q, B) }
  (r, c, column_start, row_start, place, flip, mirrored) =
    _host("cells_pattern", (), (number[D.dofs], i64(_of_unknowns(P, B)), i64(n)), ())
  (rows = r, columns = c, column_start = column_start, row_start = row_start, place = place,
    flip = flip, mirrored = mirrored == 1)
}
# Returns the symmetrised matrix where A is symmetric up to rounding, because
# only an exactly symmetric positive definite matrix is solved by Cholesky
# factors.
_symmetrised(S, A) = {
  T = A.values[S.flip]
  small = 1e-13 * max(abs(A.values))
  (...A, values = if S.mirrored and max(abs(A.values - T)) <=
    small { 0.5 * (A.values + T) } else { A.values })
}
_matrix_on(S, K) = {
  v = zeros(len(S.rows) + 1)
  v[ravel(S.place)] += ravel(K)
  (rows = S.rows, columns = S.columns, values = v[..-1], column_start = S.column_start,
    row_start = S.row_start)
}
# Returns which components' values, derivatives and rates can be in the equation
# of which component: bool[nc, nc].
_couplings(P, nodes, t, x) = {
  n = 1 + P.d
  # t and the place are arguments too: components may couple elsewhere even if
  # they do not here.
  p =
    _pattern((y, t, x) ->
      ravel(_weak_at(P, nodes, t, x, reshape(y[..P.nc * n], P.nc, n), y[P.nc * n..], 1.0)),
      (zeros(P.nc * (n + 1)) + 0.7, t, x), 0, false)
  B = eye(P.nc) > 2
  B[p.rows // n, where(p.columns < P.nc * n, p.columns // n, p.columns - P.nc * n)] = true
  B
}
# Adds the couplings by conditions that determine a flux (_given_flux).
_coupled_by_flux(P, q, B) = {
  n = 1 + P.d
  (g, rows) = (P.first[q.field], max(1, P.info.sizes[q.field]))
  for c in q.conditions {
    (a, m) = (P.first[c.field], max(1, P.info.sizes[c.field]))
    # The place and the normal are arguments, as above.
    p = _pattern((z, t, x, s) -> _condition_at(P, c.condition, t, x, reshape(z, P.nc, n), s),
      (zeros(P.nc * n) + 0.7, 0.1, zeros(P.d) + 0.1, zeros(P.d) + 0.5), 0, false)
    told = zeros(m, P.nc)
    told[p.rows, p.columns // n] = 1.0
    # The derivatives of the field in each row. Rows with their own component
    # only are independent.
    slopes = zeros(m, P.nc)
    slopes[p.rows, p.columns // n] += where(p.columns % n > 0, 1.0, 0.0)
    mixed = sum(slopes[.., a..a + m] * (1 - eye(m))) > 0
    # Rows of the flux by the components whose derivatives the conditions
    # replace.
    Q = where(B[g..g + rows, a..a + m], 1.0, 0.0)
    B[g..g + rows, ..] = B[g..g + rows, ..] or Q @ (if mixed { ones(m, m) @ told } else { told }) >
      0
  }
  B
}
# Returns which elements of a cell's matrix can be nonzero, block by block.
_of_unknowns(P, B) = {
  owner = concat(...map(c -> full(c, _node_count(P.cell, P.orders[c])), each(P.nc)))
  B[expand(owner, 1), expand(owner, 0)]
}

# Returns the residual of all unknowns and the matrix of the free ones, at U and
# rates V.
_assembled(P, D, S, fluxes, t, lambda, U, V) = {
  (R, K) = map((p, u, v) -> _cell_forms(P, D, t, lambda, p, u, v), D.places, U[D.dofs], V[D.dofs])
  out = zeros(D.total)
  out[ravel(D.dofs)] += ravel(R)
  A = _matrix_on(S, K)
  for q in fluxes {
    cells = D.owner[q.faces]
    dofs = D.dofs[cells]
    (r, k) =
      map((p, s, u) -> _face_forms((...P, lambda = lambda), D, q.conditions, q.field, t, p, s, u),
        D.places[cells], D.side[q.faces], U[dofs])
    out[ravel(dofs)] += ravel(r)
    v = concat(A.values, [0.0])
    v[ravel(S.place[cells])] += ravel(k)
    A = (...A, values = v[..-1])
  }
  (out, _symmetrised(S, A))
}
