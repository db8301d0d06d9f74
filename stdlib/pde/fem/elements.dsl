# elements.dsl - simplices and boxes: shape functions of Lagrange elements,
# quadrature, and the numbering of unknowns on a mesh.
#
# A reference cell is a record (d, boxes): the simplex with the corners 0, e_1
# ... e_d, or, where boxes is true, the box [0, 1]^d.
# - A box has its corners and nodes in the order of their coordinates, the last
#   one fastest.
# - A simplex has its corners in ascending order of their numbers. An edge or a
#   face then looks the same from all cells that share it, so its nodes need no
#   orientation.
# - Boxes are cells of a grid, aligned with its axes.
# - Face f of a simplex is the one without corner f. Faces 2a and 2a + 1 of a
#   box are those where its coordinate a is 0 and 1.
# - The frame of a box is the simplex of its first corner and the adjacent
#   corners. Both have the same affine map.

# ---- shape functions

# Returns the exponents of all monomials in d variables up to degree k: a list
# of lists.
_simplex_exponents(d, k) = if _known(d, "the dimension") == 0 { list(list()) } else {
  out = list()
  for a in each(_known(k, "the order") + 1) {
    for rest in _simplex_exponents(d - 1, k - a) { out = push(out, list(a, ...rest)) }
  }
  out
}
# Returns the values of all monomials at points X f64[..., d]: f64[..., nb].
_simplex_monomials(X, d, k) =
  stack(...map(e -> _simplex_monomial(X, e), _simplex_exponents(d, k)); axis = -1)
_simplex_monomial(X, e) = {
  y = 0 * X[..., 0] + 1
  for (a, p) in enumerate(e) { for i in each(p) { y = y * X[..., a] } }
  y
}

# Local corner numbers of the edges and triangular faces.
_edges_of(d) = if d == 1 {
  [0, 1]
} else if d == 2 {
  [0, 1, 0, 2, 1, 2]
} else {
  [0, 1, 0, 2, 0, 3, 1, 2, 1, 3, 2, 3]
}
_edge_pairs(d) = reshape(_edges_of(d), -1, 2)
_faces_of(d) = if d == 2 { [0, 1, 2] } else { [0, 1, 2, 0, 1, 3, 0, 2, 3, 1, 2, 3] }
_face_triples(d) = reshape(_faces_of(d), -1, 3)

# Returns barycentric coordinates of the nodes: corners, then k - 1 on each
# edge, from its lower corner to the upper one, then those inside each triangle,
# then those inside the tetrahedron.
_node_weights(d, k) = {
  (d, k) = (_known(d, "the dimension"), _known(k, "the order"))
  I = eye(d + 1)
  parts = list(I)
  if k > 1 {
    E = _edge_pairs(d)
    s = _edge_points(k)
    A = expand(I[E[.., 0]], 1) * (1 - expand(expand(s, 1), 0)) +
      expand(I[E[.., 1]], 1) * expand(expand(s, 1), 0)
    parts = push(parts, reshape(A, -1, d + 1))
  }
  if k > 2 and d > 1 {
    parts =
      push(parts,
        reshape(stack(...map(t -> _inner_weights(3, k) @ I[t], list(..._face_triples(d)))), -1,
          d + 1))
  }
  if k > 3 and d > 2 { parts = push(parts, _inner_weights(4, k)) }
  concat(...parts; axis = 0)
}
# Returns the interior nodes of an edge. They are Lobatto points, so that
# integrals of values fixed on the boundary are of order 2k.
_edge_points(k) =
  if k == 2 {
    [0.5]
  } else if k == 3 {
    0.5 + 0.5 * [-1, 1] / sqrt(5.0)
  } else {
    0.5 + 0.5 * sqrt(3.0 / 7) * [-1, 0, 1]
  }
# Returns the interior nodes of a triangle (n = 3) or tetrahedron (4): multiples
# of 1/k that are all positive.
_inner_weights(n, k) = {
  rows = list()
  for e in _simplex_exponents(n - 1, k - n) {
    rest = k - n
    for a in e { rest = rest - a }
    rows = push(rows, stack(...map(a -> (a + 1.0) / k, list(rest, ...e))))
  }
  stack(...rows)
}
# ---- cells

_simplex(d) = (d = _known(d, "the dimension"), boxes = false)
_cell_of(M, d) = (d = _known(d, "the dimension"), boxes = has(M, "axes"))

# Returns the positions along the axes of the (k + 1)^d nodes of a box.
_box_places(d, k) = {
  (d, k) = (_known(d, "the dimension"), _known(k, "the order"))
  stack(...map(a -> iota((k + 1)^d) // (k + 1)^(d - 1 - a) % (k + 1), each(d)); axis = 1)
}
# Returns the nodes of an interval, ascending.
_line_nodes(k) = if k == 1 { [0.0, 1.0] } else { concat([0.0], _edge_points(k), [1.0]) }
# Returns the coordinates of the nodes of an element of order k, f64[nb, d]; the
# corners for k = 1.
_node_places(cell, k) = if cell.boxes {
  _line_nodes(k)[_box_places(cell.d, k)]
} else {
  _node_weights(cell.d, k)[.., 1..]
}
_node_count(cell, k) = if cell.boxes { (k + 1)^cell.d } else { len(_simplex_exponents(cell.d, k)) }
# Returns the nodes on each face of the reference cell, for order 1 its corners:
# i64[faces, n].
_face_nodes(cell, k) = {
  k = _known(k, "the order")
  if cell.boxes {
    at = _box_places(cell.d, k)
    stack(...map(f -> findall(at[.., f // 2] == k * (f % 2)), each(2 * cell.d)))
  } else {
    W = _node_weights(cell.d, k)
    stack(...map(f -> findall(W[.., f] == 0), each(cell.d + 1)))
  }
}
# Returns the frame corners of cells i64[m, corners]: i64[m, d + 1].
_framed(cell, cells) =
  if cell.boxes {
    cells[.., concat([0], stack(...map(a -> 2^(cell.d - 1 - a), each(cell.d))))]
  } else {
    cells
  }
# Returns, for each face, the gradient of the barycentric coordinate that is 0
# there and increases into the cell. I: the inverse of the cell's direction
# matrix.
_inward_slopes(cell, I) =
  if cell.boxes { reshape(stack(I, -I; axis = 1), 2 * cell.d, cell.d) } else {
    concat(expand(-sum(I; axis = 0), 0), I; axis = 0)
  }

# ---- elements

# Returns the element of order k, with coefficients C. The shape functions of a
# simplex are monomials @ C. Those of a box are products of shape functions of
# an interval, with indices in place.
_element(cell, k) = {
  k = _known(k, "the order")
  if cell.boxes {
    (d = cell.d, k = k, C = inv(_simplex_monomials(expand(_line_nodes(k), 1), 1, k)),
      place = _box_places(cell.d, k))
  } else {
    (d = cell.d, k = k, C = inv(_simplex_monomials(_node_places(cell, k), cell.d, k)), place = none)
  }
}
# Returns the values of the shape functions at X f64[n, d]: f64[n, nb];
# _shape_slopes returns their derivatives: f64[n, nb, d].
_shapes(el, X) = if kind(el.place) == "none" { _simplex_monomials(X, el.d, el.k) @ el.C } else {
  y = 1.0
  for a in each(el.d) {
    y = y * (_simplex_monomials(X[.., a..a + 1], 1, el.k) @ el.C)[.., el.place[.., a]]
  }
  y
}
_shape_slopes(el, X) =
  stack(...map(a -> jvp(Y -> _shapes(el, Y), X, 0 * X + expand(eye(el.d)[a], 0))[1], each(el.d));
    axis = 2)

# ---- quadrature

# Returns (points f64[n, d], weights f64[n]) that integrate polynomials of
# degree p over the reference cell exactly. In a box p is the degree in each
# coordinate (a tensor product of Gauss rules).
_cell_rule(cell, p) = if cell.boxes {
  n = (_known(p, "the degree") + 2) // 2
  (x, w) = gauss_legendre(n; a = 0.0, b = 1.0)
  at = _box_places(cell.d, n - 1)
  (x[at], prod(w[at]; axis = 1))
} else { _simplex_rule(cell.d, p) }
# Returns the same for a face, and its points on each face of the reference
# cell.
_face_rule(cell, p) = {
  flat = (d = cell.d - 1, boxes = cell.boxes)
  rule = _cell_rule(flat, p)
  W = if cell.boxes {
    _shapes(_element(flat, 1), rule[0])
  } else {
    concat(expand(1 - sum(rule[0]; axis = 1), 1), rule[0]; axis = 1)
  }
  V = _node_places(cell, 1)
  F = _face_nodes(cell, 1)
  (rule, map(f -> W @ V[F[f]], each(len(F))))
}
# Returns a rule on the reference simplex: symmetric rules of low degree (Strang
# and Fix 1973; Hammer, Marlowe and Stroud 1956), else collapsed products of
# Gauss and Gauss-Jacobi rules (Stroud 1971).
_simplex_rule(d, p) = {
  (d, p) = (_known(d, "the dimension"), _known(p, "the degree"))
  if d == 0 { (zeros(1, 0), ones(1)) }
  else if d == 1 { (x, w) = gauss_legendre((p + 2) // 2; a = 0.0, b = 1.0); (expand(x, 1), w) }
  else if p <= 1 { (full(1.0 / (d + 1), 1, d), ones(1) / (if d == 2 { 2.0 } else { 6.0 })) }
  else if d == 2 and p == 2 { ([1, 1; 4, 1; 1, 4] / 6.0, ones(3) / 6) }
  else if d == 2 and p <= 4 {
    r = sqrt(38 - 44 * sqrt(0.4))
    a = (8 - sqrt(10.0) + r) / 18
    b = (8 - sqrt(10.0) - r) / 18
    s = sqrt(213125 - 53320 * sqrt(10.0))
    (u, v) = ((620 + s) / 7440, (620 - s) / 7440)
    (stack(stack(a, a), stack(1 - 2a, a), stack(a, 1 - 2a), stack(b, b), stack(1 - 2b, b),
      stack(b, 1 - 2b)),
      stack(u, u, u, v, v, v))
  } else if d == 3 and p == 2 {
    b = (5 - sqrt(5.0)) / 20
    a = 1 - 3b
    (stack(stack(b, b, b), stack(a, b, b), stack(b, a, b), stack(b, b, a)), ones(4) / 24)
  } else { _collapsed(d, (p + 2) // 2) }
}
_collapsed(d, n) = {
  d = _known(d, "the dimension")
  (x, w) = gauss_legendre(n; a = 0.0, b = 1.0)
  X = expand(x, 1)
  W = w
  for k in each(1, d) {
    # One more direction s with weight (1 - s)^k; the existing ones shrink by 1
    # - s.
    (s, v) = gauss_jacobi(n, f64(k), 0.0)
    s = (1 + s) / 2
    v = v / 2.0^(k + 1)
    m = len(W)
    big = reshape(expand(X, 0) * expand(expand(1 - s, 1), 2), n * m, k)
    X = concat(big, expand(repeat(s, m), 1); axis = 1)
    W = ravel(expand(v, 1) * expand(W, 0))
  }
  (X, W)
}

# ---- unknowns

# Returns the distinct edges or triangles among all cells: (count, index of each
# i64[m, ne], the corners of each as a key).
_shared(cells, local, n) = {
  (m, ne) = (len(cells), len(local))
  key = 0
  for a in each(shape(local)[1]) { key = key * n + cells[.., local[.., a]] }
  (all, at) = unique(ravel(key); inverse = true)
  (len(all), reshape(at, m, ne), all)
}

# Returns all combinations of elements of some vectors, as a list of columns,
# the last one fastest.
_lattice_columns(lines) = {
  total = 1
  for x in lines { total = total * len(x) }
  k = iota(total)
  out = list()
  for a in each(len(lines)) {
    x = lines[len(lines) - 1 - a]
    out = list(x[k % len(x)], ...out)
    k = k // len(x)
  }
  out
}
# Returns (count, cells' nodes, coordinates), as below, on the grid of some
# axes, with cells numbered in the order of the points.
_grid_nodes(axes, k) = {
  (d, k) = (len(axes), _known(k, "the order"))
  s = _line_nodes(k)[..-1]
  lines = map(x -> concat(ravel(expand(x[..-1], 1) + expand(x[1..] - x[..-1], 1) * s), x[-1..]),
    axes)
  at = _box_places(d, k)
  (count, nodes) = (1, 0)
  for (a, i) in enumerate(_lattice_columns(map(x -> iota(len(x) - 1), axes))) {
    nodes = nodes * len(lines[a]) + expand(k * i, 1) + at[.., a]
    count = count * len(lines[a])
  }
  (count, nodes, stack(..._lattice_columns(lines); axis = 1))
}
# Returns the cells on the sides of such a grid, side after side, and which of
# their faces these are.
_grid_sides(axes) = {
  (owner, side) = (list(), list())
  I = _lattice_columns(map(x -> iota(len(x) - 1), axes))
  for (a, i) in enumerate(I) {
    for s in list(0, 1) {
      on = findall(i == s * (len(axes[a]) - 2))
      owner = push(owner, on)
      side = push(side, 0 * on + 2 * a + s)
    }
  }
  (concat(...owner), concat(...side))
}
# Returns the nodes of elements of order k on a mesh with sorted cells: (count,
# cells' nodes i64[m, nb], coordinates f64[count, d]).
_nodes(M, cells, k) =
  if has(M, "axes") { _grid_nodes(M.axes, k) } else { _simplex_nodes(M.points, cells, k) }
_simplex_nodes(points, cells, k) = {
  k = _known(k, "the order")
  (n, d) = shape(points)
  d = _known(d, "the dimension")
  if k == 1 { (n, cells, points) } else {
    W = _node_weights(d, k)
    parts = list(cells)
    total = n
    E = _edge_pairs(d)
    (ne, at, _) = _shared(cells, E, n)
    parts = push(parts, reshape(expand(n + at * (k - 1), 2) + iota(k - 1), len(cells), -1))
    total = n + ne * (k - 1)
    if k > 2 and d > 1 {
      (nt, on, _) = _shared(cells, _face_triples(d), n)
      inner = (k - 1) * (k - 2) // 2
      parts = push(parts, reshape(expand(total + on * inner, 2) + iota(inner), len(cells), -1))
      total = total + nt * inner
    }
    if k > 3 and d > 2 {
      inner = (k - 1) * (k - 2) * (k - 3) // 6
      parts = push(parts, expand(total + iota(len(cells)) * inner, 1) + iota(inner))
      total = total + len(cells) * inner
    }
    nodes = concat(...parts; axis = 1)
    X = zeros(total, d)
    corners = points[cells]
    for i in each(len(W)) {
      X[nodes[.., i]] = sum(corners * expand(expand(W[i], 1), 0); axis = 1)
    }
    (total, nodes, X)
  }
}

# Returns determinant and inverse of the matrix A[.., .., d, d] of directions to
# the corners.
_det_inverse(A, d) = {
  d = _known(d, "the dimension")
  if d == 1 { (A[..., 0, 0], 1 / A) } else if d == 2 {
    D = A[..., 0, 0] * A[..., 1, 1] - A[..., 0, 1] * A[..., 1, 0]
    top = stack(A[..., 1, 1] / D, -A[..., 0, 1] / D; axis = -1)
    low = stack(-A[..., 1, 0] / D, A[..., 0, 0] / D; axis = -1)
    (D, stack(top, low; axis = -2))
  } else {
    c = (i, j, k, l) -> A[..., i, j] * A[..., k, l] - A[..., i, l] * A[..., k, j]
    (c00, c01, c02) = (c(1, 1, 2, 2), -c(1, 0, 2, 2), c(1, 0, 2, 1))
    D = A[..., 0, 0] * c00 + A[..., 0, 1] * c01 + A[..., 0, 2] * c02
    r0 = stack(c00, -c(0, 1, 2, 2), c(0, 1, 1, 2); axis = -1)
    r1 = stack(c01, c(0, 0, 2, 2), -c(0, 0, 1, 2); axis = -1)
    r2 = stack(c02, -c(0, 0, 2, 1), c(0, 0, 1, 1); axis = -1)
    (D, stack(r0, r1, r2; axis = -2) / expand(expand(D, rank(D)), rank(D)))
  }
}
