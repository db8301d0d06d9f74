# mesher.dsl - meshes of regions that are no boxes, their refinement, and meshes from Gmsh's files.

# Of the plane: points on the boundary at distances h, a lattice of equilateral triangles inside, Delaunay's triangulation, and again after points have moved to the middle of
# their neighbours. That the boundary's edges are in it is seen from its area; where they are not, as between near parts of the boundary, h is halved there for another try.
_region_mesh(r, h) = {
  d = _known(len(r.lo), "the dimension")
  if d == 2 { _plane_mesh(r, h) } else if r.region == "ball" { _ball_mesh(r, h) } else {
    error(
      "mesh(region, h): of regions of space boxes and balls are meshed here; others can be meshed by Gmsh, whose files mesh(\"part.msh\") reads")
  }
}
_plane_mesh(r, h) = {
  step = h
  turns = 0
  (P, T, good) = _plane_attempt(r, step)
  while not good and turns < 4 {
    step = step / 2
    turns = turns + 1
    (P, T, good) = _plane_attempt(r, step)
  }
  if not good { error("mesh(region, {h:.3g}): the boundary is finer than a mesh of this size can follow; try a smaller h") }
  F = _boundary_faces(T, len(P))
  (_, piece, _) = _curve_distance(r.curves, mean(P[F]; axis = 1))
  (points = P, cells = T, faces = F, tags = r.part[piece], names = r.names, region = r)
}
# (points, triangles, whether they fill the polygon through the points of the boundary)
_plane_attempt(r, h) = {
  C = r.curves
  many =
    max(where(C[.., 0] == 1, i64(ceil(abs(C[.., 5] - C[.., 4]) / (π / 4) - 1e-9)), 1), i64(ceil(_curve_lengths(C) / h - 1e-6)))
  of = repeat(iota(len(C)), many)
  k = iota(len(of)) - repeat(cumsum(many) - many, many)
  (B, _) = _on_curves(C[of], f64(k) / many[of])
  (E, _) = _on_curves(C[of], f64(k + 1) / many[of])
  area = 0.5 * sum(B[.., 0] * E[.., 1] - E[.., 0] * B[.., 1])
  # the lattice
  (lo, hi) = (r.lo, r.hi)
  dy = h * sqrt(3.0) / 2
  (nx, ny) = (i64((hi[0] - lo[0]) / h) + 2, i64((hi[1] - lo[1]) / dy) + 2)
  j = repeat(iota(ny), nx)
  i = iota(nx * ny) % nx
  L = stack(lo[0] + h * (i + 0.5 * (j % 2)), lo[1] + dy * (j + 0.5); axis = 1)
  X = concat(B, L[findall(_is_inside(r, L))]; axis = 0)
  nb = len(B)
  far = _curve_distance(C, X)[0] > 0.6 * h
  X = X[findall(far or (iota(len(X)) < nb))]
  T = _inner_triangles(X, r, h)
  moved = _smoothed(X, T, nb)
  S = _inner_triangles(moved, r, h)
  fine = abs(_triangles_area(moved, S) - area) < 1e-6 * area
  (Y, S) = if fine { (moved, S) } else { (X, T) }
  (Y, S, abs(_triangles_area(Y, S) - area) < 1e-6 * area and _all_used(S, len(Y)))
}
_all_used(T, n) = { seen = zeros(n); seen[ravel(T)] = 1.0; min(seen) > 0 }
_triangle_areas(X, T) = {
  (A, B, C) = (X[T[.., 0]], X[T[.., 1]], X[T[.., 2]])
  0.5 * ((B[.., 0] - A[.., 0]) * (C[.., 1] - A[.., 1]) - (B[.., 1] - A[.., 1]) * (C[.., 0] - A[.., 0]))
}
_triangles_area(X, T) = sum(_triangle_areas(X, T))
_inner_triangles(X, r, h) = {
  T = delaunay(X)
  T = T[findall(_triangle_areas(X, T) > 1e-4 * h^2)]
  T[findall(_is_inside(r, mean(X[T]; axis = 1)))]
}
# Points behind the first `fixed` ones in the mean of their neighbours, a few times
_smoothed(X, T, fixed) = {
  n = len(X)
  (a, b) = (concat(T[.., 0], T[.., 1], T[.., 2]), concat(T[.., 1], T[.., 2], T[.., 0]))
  count = zeros(n)
  count[a] += 1.0
  count[b] += 1.0
  free = expand(iota(n) >= fixed, 1)
  for turn in 0..8 {
    S = 0 * X
    S[a] += X[b]
    S[b] += X[a]
    X = where(free, S / expand(max(count, 1.0), 1), X)
  }
  X
}

# A cube drawn onto a ball
_ball_mesh(r, h) = {
  m = _box_mesh(box([-1, 1], [-1, 1], [-1, 1]), min(1.0, 1.2 * h / r.radius))
  X = m.points
  cube = max(abs(X); axis = 1)
  length = sqrt(sum(X^2; axis = 1))
  Y = r.centre + r.radius * X * expand(where(length > 0, cube / where(length > 0, length, 1.0), 0.0), 1)
  (...m, points = Y, tags = 0 * m.tags, names = r.names, region = r)
}

# ---- refinement

# refine(m; marked): a mesh with each cell cut into 2, 4 or 8 by the middles of its edges; of triangles only those marked, a vector of conditions, and what keeps the mesh whole
#   Marked triangles are cut by newest-vertex bisection: from the corner that came last to the middle of the side opposite to it (Mitchell 1991); in the first mesh the longest side
#   counts as that. The angles stay away from 0. New corners of a curved boundary lie on the region's boundary.
#     m = mesh(box([0, 1], [0, 1]), 0.5);
#     len(refine(m).cells)                                       #> 32
#     len(refine(m; marked = cell_sizes(m) * iota(8) > 0.8).cells) < 16   #> true
refine(m; marked = none) = if kind(marked) == "none" { _refined_mesh(m) } else {
  assert(shape(m.points)[1] == 2, "refine(m; marked = ...) bisects triangles; without marked each cell of any mesh is cut")
  assert(len(marked) == len(m.cells), "refine: {len(marked)} marks for {len(m.cells)} cells")
  _bisected(m, marked)
}
_refined_mesh(m) = {
  d = _known(shape(m.points)[1], "the dimension")
  T = _ascending(m.cells)
  n = len(m.points)
  (ne, at, key) = _shared(T, _edge_pairs(d), n)
  (a, b) = (key // n, key % n)
  X = concat(m.points, 0.5 * (m.points[a] + m.points[b]); axis = 0)
  e = n + at
  v = k -> T[.., k]
  g = k -> e[.., k]
  cells = if d == 1 { concat(stack(v(0), g(0); axis = 1), stack(g(0), v(1); axis = 1); axis = 0) }
  else if d == 2 {
    # edges 01, 02, 12
    concat(stack(v(0), g(0), g(1); axis = 1), stack(g(0), v(1), g(2); axis = 1), stack(g(1), g(2), v(2); axis = 1),
      stack(g(0), g(2), g(1); axis = 1); axis = 0)
  } else {
    # edges 01, 02, 03, 12, 13, 23; the octahedron inside along the diagonal from 02 to 13 (Bey 1995)
    concat(stack(v(0), g(0), g(1), g(2); axis = 1), stack(g(0), v(1), g(3), g(4); axis = 1),
      stack(g(1), g(3), v(2), g(5); axis = 1), stack(g(2), g(4), g(5), v(3); axis = 1), stack(g(0), g(1), g(2), g(4); axis = 1),
      stack(g(0), g(1), g(3), g(4); axis = 1), stack(g(1), g(2), g(4), g(5); axis = 1), stack(g(1), g(3), g(4), g(5); axis = 1);
      axis = 0)
  }
  _with_boundary(m, X, cells)
}
# The boundary of a refined mesh: each face belongs to the part whose old face its middle lies on, and new corners go where the region's boundary is
_with_boundary(m, X, cells) = {
  d = shape(X)[1]
  n = len(m.points)
  F = _boundary_faces(cells, len(X))
  middle = mean(X[F]; axis = 1)
  tags = if d == 2 {
    S = m.points[m.faces]
    zero = 0 * S[.., 0, 0]
    C = stack(zero, S[.., 0, 0], S[.., 0, 1], S[.., 1, 0], S[.., 1, 1], zero; axis = 1)
    m.tags[_nearest_segments(C, middle)]
  } else { m.tags[_nearest_rows(mean(m.points[m.faces]; axis = 1), middle)] }
  Y = if kind(m.region) == "none" { X } else if m.region.region == "ball" {
    on = unique(ravel(F))
    N = X[on] - m.region.centre
    X[on] = m.region.centre + m.region.radius * N / expand(sqrt(sum(N^2; axis = 1)), 1)
    X
  } else if d == 2 {
    on = unique(ravel(F))
    new = on[findall(on >= n)]
    if len(m.region.curves) > 0 and len(new) > 0 { X[new] = _curve_distance(m.region.curves, X[new])[2] }
    X
  } else { X }
  (...m, points = Y, cells = cells, faces = F, tags = tags)
}
# Row of C nearest to each point, some points at a time
_nearest_segments(C, X) = concat(...list(map(x -> _curve_distance(C, expand(x, 0))[1][0], X)))
_nearest_rows(A, X) = map(x -> argmin(sum((A - x)^2; axis = 1)), X)

# Corner 2 is the newest, the edge 01 opposite to it is cut
_bisected(m, marked) = {
  T = if has(m, "bisected") { m.cells } else { _longest_first(m.points, m.cells) }
  n = len(m.points)
  pairs = [1, 2, 2, 0, 0, 1]
  E = reshape(T[.., pairs], len(T), 3, 2)
  key = min(E[.., .., 0], E[.., .., 1]) * n + max(E[.., .., 0], E[.., .., 1])
  (all, at) = unique(ravel(key); inverse = true)
  at = reshape(at, len(T), 3)
  cut = zeros(len(all))
  cut[at[findall(marked), 2]] = 1.0
  before = -1.0
  # a triangle with an edge to be cut must have its own edge cut first
  while sum(cut) > before {
    before = sum(cut)
    on = findall(max(cut[at]; axis = 1) > 0)
    cut[at[on, 2]] = 1.0
  }
  chosen = findall(cut > 0)
  new = n + cumsum(i64(cut)) - 1
  X = concat(m.points, 0.5 * (m.points[all[chosen] // n] + m.points[all[chosen] % n]); axis = 0)
  split_ = cut[at] > 0
  v = k -> T[.., k]
  e = k -> new[at[.., k]]
  # children (2, 0, e2) and (1, 2, e2), each cut once more where its edge 20 or 12 is
  piece = (a, b, c, where_) -> stack(a, b, c; axis = 1)[findall(where_)]
  (s0, s1, s2) = (split_[.., 0], split_[.., 1], split_[.., 2])
  cells = concat(piece(v(0), v(1), v(2), not s2), piece(v(2), v(0), e(2), s2 and not s1), piece(e(2), v(2), e(1), s2 and s1),
    piece(v(0), e(2), e(1), s2 and s1), piece(v(1), v(2), e(2), s2 and not s0), piece(e(2), v(1), e(0), s2 and s0),
    piece(v(2), e(2), e(0), s2 and s0); axis = 0)
  (..._with_boundary(m, X, cells), bisected = true)
}
_longest_first(X, T) = {
  side = (i, j) -> sum((X[T[.., i]] - X[T[.., j]])^2; axis = 1)
  k = argmax(stack(side(1, 2), side(2, 0), side(0, 1); axis = 1); axis = 1)
  stack(...map(j -> _take_each(T, (k + 1 + j) % 3), list(0, 1, 2)); axis = 1)
}

# ---- Gmsh

# The mesh in a .msh file: of the cells of the highest dimension there are, the faces of which belong to the physical groups that name them, else to "boundary"
_read_msh(path) = _mesh_of_tables(load(path; format = "msh"))
_mesh_of_tables(r) = _mesh_of_parts(r.points, r.lines, r.line_parts, r.triangles, r.triangle_parts, r.tetrahedra, r.names)
_mesh_of_parts(points: f64[n, 3], lines: i64[a, 2], line_parts: i64[a], triangles: i64[b, 3], triangle_parts: i64[b],
  tetrahedra: i64[c, 4], names) =
  if len(tetrahedra) > 0 { _mesh_from(points, tetrahedra, triangles, triangle_parts, names) }
else if len(triangles) > 0 {
  assert(max(abs(points[unique(ravel(triangles)), 2] - points[triangles[0, 0], 2])) == 0,
    "mesh: the triangles of the file do not lie in a plane z = constant; surfaces in space are not served")
  _mesh_from(points[.., ..2], triangles, lines, line_parts, names)
} else { error("mesh: the file has neither triangles nor tetrahedra") }
_mesh_from(points, cells, faces, parts, names) = {
  # the points that cells use
  used = unique(ravel(cells))
  new = 0 * iota(len(points)) - 1
  new[used] = iota(len(used))
  T = new[cells]
  n = len(used)
  F = _boundary_faces(T, n)
  given = new[faces]
  whole = findall(min(given; axis = 1) >= 0)
  key = _face_keys(_ascending(given[whole]), n)
  order = argsort(key)
  sorted = concat(key[order], [n^shape(F)[1]])
  own = _face_keys(F, n)
  at = searchsorted(sorted, own; side = "left")
  found = sorted[at] == own
  part = concat(parts[whole][order], [-1])[at]
  others = len(names)
  (points = points[used], cells = T, faces = F, tags = where(found and (part >= 0), part, others),
    names = push(names, "boundary"), region = none)
}
