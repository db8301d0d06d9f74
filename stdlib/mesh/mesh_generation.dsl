# mesh_generation.dsl - mesh generation for regions other than boxes, mesh
# refinement, and meshes from Gmsh files.

# Plane regions: boundary points at distances h, a lattice of equilateral
# triangles inside, Delaunay triangulation, smoothing, and triangulation again.
# The area shows whether the triangulation contains the boundary's edges. Where
# it does not, as between close parts of the boundary, h is halved and meshing
# is repeated.
_region_mesh(r, h) = {
  d = _known(len(r.lo), "the dimension")
  if d == 2 { _plane_mesh(r, h) } else if r.region == "ball" { _ball_mesh(r, h) } else {
    error(
      "mesh(region, h): of regions of space boxes and balls are meshed here; others can be meshed "
      "by Gmsh, whose files mesh(\"part.msh\") reads")
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
  if not good {
    error(
      "mesh(region, {h:.3g}): the boundary is finer than a mesh of this size can follow; try a "
      "smaller h")
  }
  F = _boundary_faces(T, len(P))
  (_, piece, _) = _curve_distance(r.curves, mean(P[F]; axis = 1))
  (points = P, cells = T, faces = F, tags = r.part[piece], names = r.names, region = r)
}
# (points, triangles, whether they fill the polygon through the boundary
# points).
_plane_attempt(r, h) = {
  C = r.curves
  many =
    max(where(C[.., 0] == 1, i64(ceil(abs(C[.., 5] - C[.., 4]) / (π / 4) - 1e-9)), 1),
      i64(ceil(_curve_lengths(C) / h - 1e-6)))
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
  B = _distinct(B, 1e-9 * h)
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
# The rows of X without those that coincide with an earlier one, up to the
# distance `near`: boundaries may touch at a point.
_distinct(X, near) = {
  k = floor(X / near + 0.5)
  order = lexsort((k[.., 1], k[.., 0]))
  k = k[order]
  apart = max(abs(k[1..] - k[..-1]); axis = 1) > 0
  X[sort(concat(order[..1], order[1 + findall(apart)]))]
}
_all_used(T, n) = { seen = zeros(n); seen[ravel(T)] = 1.0; min(seen) > 0 }
_triangle_areas(X, T) = {
  (A, B, C) = (X[T[.., 0]], X[T[.., 1]], X[T[.., 2]])
  0.5 * ((B[.., 0] - A[.., 0]) * (C[.., 1] - A[.., 1]) -
    (B[.., 1] - A[.., 1]) * (C[.., 0] - A[.., 0]))
}
_triangles_area(X, T) = sum(_triangle_areas(X, T))
_inner_triangles(X, r, h) = {
  T = delaunay(X)
  T = T[findall(_triangle_areas(X, T) > 1e-4 * h^2)]
  T[findall(_is_inside(r, mean(X[T]; axis = 1)))]
}
# Laplacian smoothing: moves the points after the first `fixed` ones to the mean
# of their neighbours, a few times.
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

# A cube mapped to a ball.
_ball_mesh(r, h) = {
  m = _box_mesh(box([-1, 1], [-1, 1], [-1, 1]), min(1.0, 1.2 * h / r.radius))
  X = m.points
  cube = max(abs(X); axis = 1)
  length = sqrt(sum(X^2; axis = 1))
  Y = r.centre +
    r.radius * X * expand(where(length > 0, cube / where(length > 0, length, 1.0), 0.0), 1)
  (...m, points = Y, tags = 0 * m.tags, names = r.names, region = r)
}

# ---- refinement

# refine(m; marked): a mesh with each cell divided into 2, 4 or 8 at its edge
# midpoints, or with the marked cells bisected and the mesh kept conforming.
# marked is a vector of conditions.
#   Marked triangles use newest-vertex bisection: from the newest corner to the
#   midpoint of the opposite side (Mitchell 1991). In the first mesh the longest
#   side counts as opposite to the newest corner. Marked tetrahedra are bisected
#   at a refinement edge, with marked edges on their faces; this also gives a
#   finite number of shapes (Arnold, Mukherjee and Pouly, SIAM J. Sci. Comput.
#   22, 2000). Boxes can only be refined uniformly. Angles stay bounded away
#   from 0. New corners of a curved boundary are put on the region's boundary.
#     m = mesh(box([0, 1], [0, 1]), 0.5);
#     len(refine(m).cells)                                       #> 32
#     len(refine(m; marked = cell_sizes(m) * iota(8) > 0.8).cells) < 16   #> true
#     len(refine(mesh(box([0, 1]), 0.25); marked = [true, false, false, true]).cells)   #> 6
refine(m; marked = none) = if has(m, "axes") {
  if kind(marked) != "none" {
    _refuse(
      "refine(m; marked = ...) cuts simplices; boxes of which some are cut have no common faces: "
      "refine(m) cuts all of them")
  }
  _grid_mesh(map(x -> concat(ravel(stack(x[..-1], 0.5 * (x[..-1] + x[1..]); axis = 1)), x[-1..]),
    m.axes), m.region)
} else if kind(marked) == "none" { _refined_mesh(m) } else {
  assert(len(marked) == len(m.cells), "refine: {len(marked)} marks for {len(m.cells)} cells")
  d = _known(shape(m.points)[1], "the dimension")
  if d == 1 {
    _halved(m, marked)
  } else if d == 2 {
    _bisected(m, marked)
  } else {
    _bisected_solid(m, marked)
  }
}
_halved(m, marked) = {
  (on, off) = (findall(marked), findall(not marked))
  n = len(m.points)
  new = n + iota(len(on))
  X = concat(m.points, mean(m.points[m.cells[on]]; axis = 1); axis = 0)
  cells = concat(m.cells[off], stack(m.cells[on, 0], new; axis = 1),
    stack(new, m.cells[on, 1]; axis = 1); axis = 0)
  (...m, points = X, cells = cells)
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
    concat(stack(v(0), g(0), g(1); axis = 1), stack(g(0), v(1), g(2); axis = 1),
      stack(g(1), g(2), v(2); axis = 1), stack(g(0), g(2), g(1); axis = 1); axis = 0)
  } else {
    # edges 01, 02, 03, 12, 13, 23; the inner octahedron is split along the
    # diagonal from 02 to 13 (Bey 1995)
    concat(stack(v(0), g(0), g(1), g(2); axis = 1), stack(g(0), v(1), g(3), g(4); axis = 1),
      stack(g(1), g(3), v(2), g(5); axis = 1), stack(g(2), g(4), g(5), v(3); axis = 1),
      stack(g(0), g(1), g(2), g(4); axis = 1), stack(g(0), g(1), g(3), g(4); axis = 1),
      stack(g(1), g(2), g(4), g(5); axis = 1), stack(g(1), g(3), g(4), g(5); axis = 1);
      axis = 0)
  }
  _unbisected(_with_boundary(m, X, cells))
}
# The boundary of a refined mesh. Each face belongs to the part of the old face
# that contains its midpoint. New corners are put on the region's boundary.
_with_boundary(m, X, cells) = {
  d = shape(X)[1]
  F = _boundary_faces(cells, len(X))
  middle = mean(X[F]; axis = 1)
  tags = if d == 2 {
    S = m.points[m.faces]
    zero = 0 * S[.., 0, 0]
    C = stack(zero, S[.., 0, 0], S[.., 0, 1], S[.., 1, 0], S[.., 1, 1], zero; axis = 1)
    m.tags[_nearest_segments(C, middle)]
  } else { m.tags[_nearest_rows(mean(m.points[m.faces]; axis = 1), middle)] }
  (...m, points = _onto_boundary(m, X, F), cells = cells, faces = F, tags = tags)
}
# X with the new corners of faces F moved to the region's boundary.
_onto_boundary(m, X, F) = {
  n = len(m.points)
  if kind(m.region) == "none" { X } else if m.region.region == "ball" {
    on = unique(ravel(F))
    N = X[on] - m.region.centre
    X[on] = m.region.centre + m.region.radius * N / expand(sqrt(sum(N^2; axis = 1)), 1)
    X
  } else if shape(X)[1] == 2 {
    on = unique(ravel(F))
    new = on[findall(on >= n)]
    if len(m.region.curves) > 0 and len(new) > 0 {
      X[new] = _curve_distance(m.region.curves, X[new])[2]
    }
    X
  } else { X }
}
# The index of the nearest row of C for each point, some points at a time.
_nearest_segments(C, X) = concat(...list(map(x -> _curve_distance(C, expand(x, 0))[1][0], X)))
_nearest_rows(A, X) = map(x -> argmin(sum((A - x)^2; axis = 1)), X)

# A mesh that is not yet prepared for bisection. The field `bisection` records
# for triangles whether their corners are in the order of bisection, and for
# tetrahedra the marked edges of their faces.
_unbisected(m) = {
  d = _known(shape(m.points)[1], "the dimension")
  if d == 1 { m } else if d == 2 { (...m, bisection = false) } else {
    (...m, bisection = (q = i64(zeros(0, 2)), flag = iota(0), tags = i64(zeros(0, 4))))
  }
}
_to_be_bisected(m) = {
  d = _known(shape(m.points)[1], "the dimension")
  M = if has(m, "bisection") { m } else { _unbisected(m) }
  if d == 1 { m } else if d == 2 {
    (...M, cells = if M.bisection { M.cells } else { _longest_first(M.points, M.cells) },
      bisection = true)
  } else if len(M.bisection.flag) > 0 { M } else { _edges_to_cut(M) }
}

# Newest-vertex bisection: corner 2 is the newest, and the opposite edge 01 is
# bisected.
_bisected(m, marked) = {
  m = _to_be_bisected(m)
  T = m.cells
  n = len(m.points)
  pairs = [1, 2, 2, 0, 0, 1]
  E = reshape(T[.., pairs], len(T), 3, 2)
  key = min(E[.., .., 0], E[.., .., 1]) * n + max(E[.., .., 0], E[.., .., 1])
  (all, at) = unique(ravel(key); inverse = true)
  at = reshape(at, len(T), 3)
  cut = zeros(len(all))
  cut[at[findall(marked), 2]] = 1.0
  before = -1.0
  # a triangle with an edge to be bisected must have its own edge bisected first
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
  # children (2, 0, e2) and (1, 2, e2), each bisected again if its edge 20 or 12
  # is
  piece = (a, b, c, where_) -> stack(a, b, c; axis = 1)[findall(where_)]
  (s0, s1, s2) = (split_[.., 0], split_[.., 1], split_[.., 2])
  cells = concat(piece(v(0), v(1), v(2), not s2), piece(v(2), v(0), e(2), s2 and not s1),
    piece(e(2), v(2), e(1), s2 and s1), piece(v(0), e(2), e(1), s2 and s1),
    piece(v(1), v(2), e(2), s2 and not s0), piece(e(2), v(1), e(0), s2 and s0),
    piece(v(2), e(2), e(0), s2 and s0); axis = 0)
  _with_boundary(m, X, cells)
}
_longest_first(X, T) = {
  side = (i, j) -> sum((X[T[.., i]] - X[T[.., j]])^2; axis = 1)
  k = argmax(stack(side(1, 2), side(2, 0), side(0, 1); axis = 1); axis = 1)
  stack(...map(j -> _take_each(T, (k + 1 + j) % 3), list(0, 1, 2)); axis = 1)
}

# Bisection of tetrahedra. The refinement edge is from corner 0 to corner 1.
# Each face has a marked edge, too: for faces with corners 0 and 1 the
# refinement edge, for the face without corner i (0 or 1) the edge left without
# corner q[i].
#
# The marked edges of these two faces become the refinement edges of the halves.
# The marked edge of a bisected face is opposite to the new corner, and so is
# that of the face between the halves. The exception is a tetrahedron with flag
# set and its three marked edges in one plane. tags: the boundary part of the
# face without corner i, at i; -1 inside.
_bisected_solid(m, marked) = {
  m = _to_be_bisected(m)
  T = m.cells
  (q, flag, tags) = (m.bisection.q, m.bisection.flag, m.bisection.tags)
  X = m.points
  base = 2^31
  pairs = reshape([0, 1, 0, 2, 0, 3, 1, 2, 1, 3, 2, 3], 6, 2)
  keys_of = (a, b) -> min(a, b) * base + max(a, b)
  # bisected edges, ascending, and their new corners
  (cut, middle) = (iota(0), iota(0))
  on = marked
  while sum(on) > 0 {
    (go, stay) = (findall(on), findall(not on))
    (S, s, f, t) = (T[go], q[go], flag[go], tags[go])
    key = keys_of(S[.., 0], S[.., 1])
    fresh = unique(key)
    known = if len(cut) == 0 {
      fresh < 0
    } else {
      cut[min(searchsorted(cut, fresh; side = "left"), len(cut) - 1)] == fresh
    }
    fresh = fresh[findall(not known)]
    number = len(X) + iota(len(fresh))
    X = concat(X, 0.5 * (X[fresh // base] + X[fresh % base]); axis = 0)
    (all, mids) = (concat(cut, fresh), concat(middle, number))
    order = argsort(all)
    (cut, middle) = (all[order], mids[order])
    z = middle[searchsorted(cut, key; side = "left")]
    planar = (s[.., 0] == s[.., 1]) and (s[.., 0] >= 2)
    (C0, q0, t0) = _half_solid(S, s[.., 1], t, z, 0, planar and f == 1)
    (C1, q1, t1) = _half_solid(S, s[.., 0], t, z, 1, planar and f == 1)
    next = i64(planar and f == 0)
    T = concat(T[stay], C0, C1; axis = 0)
    q = concat(q[stay], q0, q1; axis = 0)
    flag = concat(flag[stay], next, next)
    tags = concat(tags[stay], t0, t1; axis = 0)
    # a tetrahedron with a bisected edge is bisected, too
    E = T[.., pairs]
    edges = keys_of(E[.., .., 0], E[.., .., 1])
    at = min(searchsorted(cut, ravel(edges); side = "left"), len(cut) - 1)
    on = max(reshape(f64(cut[at] == ravel(edges)), -1, 6); axis = 1) > 0
  }
  F = _cell_faces(T)
  outer = findall(ravel(tags) >= 0)
  faces = reshape(F, -1, 3)[outer]
  (...m, points = _onto_boundary(m, X, faces), cells = T, faces = faces, tags = ravel(tags)[outer],
    bisection = (q = q, flag = flag, tags = tags))
}
# The half that keeps corner p (0 or 1) of tetrahedra S, with the new corner z
# in place of the other: cells, q, tags. q: of the face without the other
# corner.
_half_solid(S, q, t, z, p, turned) = {
  (a, c, d) = (S[.., p], S[.., 2], S[.., 3])
  (ta, tc, td) = (t[.., 1 - p], t[.., 2], t[.., 3])
  none_ = 0 * ta - 1
  pick = (three, two, rest) ->
    stack(...map((x, y, w) -> where(q == 3, x, where(q == 2, y, w)), three, two, rest); axis = 1)
  (pick(list(a, c, z, d), list(a, d, z, c), list(c, d, a, z)),
    stack(where(q >= 2 and not turned, 2, 3), where(q >= 2, 2, 3); axis = 1),
    pick(list(none_, tc, ta, td), list(none_, td, ta, tc), list(tc, td, none_, ta)))
}
# Initial marking: the longest edge of each tetrahedron and of each face; among
# equal lengths the later one in the global order.
_edges_to_cut(m) = {
  T = _ascending(m.cells)
  n = len(m.points)
  (count, at, key) = _shared(T, _edge_pairs(3), n)
  length = sum((m.points[key // n] - m.points[key % n])^2; axis = 1)
  rank_ = 0 * key
  # lengths that differ by rounding only count as equal
  rank_[argsort(1e-9 * floor(1e9 * length / max(length)) + 1e-13 * iota(count) / count)] =
    iota(count)
  r = rank_[at]
  # edges 01, 02, 03, 12, 13, 23 and the remaining corners
  ends = reshape([0, 1, 2, 3, 0, 2, 1, 3, 0, 3, 1, 2, 1, 2, 0, 3, 1, 3, 0, 2, 2, 3, 0, 1], 6, 4)
  place = reshape([-1, 0, 1, 2, 0, -1, 3, 4, 1, 3, -1, 5, 2, 4, 5, -1], 4, 4)
  turn = ends[argmax(r; axis = 1)]
  cells = stack(...map(k -> _take_each(T, turn[.., k]), list(0, 1, 2, 3)); axis = 1)
  edge = (i, j) -> _take_each(r, place[turn[.., i], turn[.., j]])
  largest = (x, y, w, names) -> where(x > max(y, w), names[0], where(y > w, names[1], names[2]))
  q = stack(largest(edge(1, 2), edge(1, 3), edge(2, 3), (3, 2, 1)),
    largest(edge(0, 2), edge(0, 3), edge(2, 3), (3, 2, 0));
    axis = 1)
  (owner, side) = _owners(T, m.faces, n)
  old = 0 * T - 1
  old[owner, side] = m.tags
  (...m, cells = cells, bisection = (q = q, flag = 0 * cells[.., 0],
    tags = stack(...map(k -> _take_each(old, turn[.., k]), list(0, 1, 2, 3)); axis = 1)))
}

# ---- Gmsh

# The mesh in a .msh file, of the cells of the highest dimension present. Faces
# belong to the physical groups that contain them, else to "boundary".
_read_msh(path) = _mesh_of_tables(load(path; format = "msh"))
_mesh_of_tables(r) =
  _mesh_of_parts(r.points, r.lines, r.line_parts, r.triangles, r.triangle_parts, r.tetrahedra,
    r.names)
_mesh_of_parts(points: f64[n, 3], lines: i64[a, 2], line_parts: i64[a], triangles: i64[b, 3],
  triangle_parts: i64[b], tetrahedra: i64[c, 4], names) =
  if len(tetrahedra) > 0 { _mesh_from(points, tetrahedra, triangles, triangle_parts, names) }
else if len(triangles) > 0 {
  assert(max(abs(points[unique(ravel(triangles)), 2] - points[triangles[0, 0], 2])) == 0,
    "mesh: the triangles of the file do not lie in a plane z = constant; surfaces in space are not "
    "served")
  _mesh_from(points[.., ..2], triangles, lines, line_parts, names)
} else { error("mesh: the file has neither triangles nor tetrahedra") }
_mesh_from(points, cells, faces, parts, names) = {
  # the points used by cells
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
  tags = where(found and (part >= 0), part, others)
  own = (points = points[used], cells = T, faces = F, tags = tags, names = push(names, "boundary"))
  (...own, region = _region_of_mesh(own))
}
# The domain of a mesh as a region: in the plane a polygon with the sides of the
# mesh, in space the union of its cells. The region includes the mesh, which
# mesh(region, h) refines.
_region_of_mesh(m) = {
  X = m.points
  d = shape(X)[1]
  (lo, hi) = (min(X; axis = 0), max(X; axis = 0))
  if d == 2 {
    (a, b) = (X[m.faces[.., 0]], X[m.faces[.., 1]])
    # oriented with its cell on the left
    (owner, _) = _owners(_ascending(m.cells), m.faces, len(X))
    middle = mean(X[m.cells[owner]]; axis = 1)
    left = (b[.., 0] - a[.., 0]) * (middle[.., 1] - a[.., 1]) -
      (b[.., 1] - a[.., 1]) * (middle[.., 0] - a[.., 0]) > 0
    (p, q) = (where(expand(left, 1), a, b), where(expand(left, 1), b, a))
    zero = 0 * p[.., 0]
    (region = "polygon", lo = lo, hi = hi, names = m.names,
      curves = stack(zero, p[.., 0], p[.., 1], q[.., 0], q[.., 1], zero;
        axis = 1), part = m.tags, mesh = m)
  } else {
    (curves, part) = _no_curves()
    (region = "mesh", lo = lo, hi = hi, names = m.names, curves = curves, part = part, mesh = m)
  }
}
# The mesh of such a region with cells of size h at most; its own cells if h is
# none.
_mesh_in_region(r, h) = {
  m = _unbisected((...r.mesh, region = r))
  longest = M -> max(norm(M.points[M.cells[.., 0]] - M.points[M.cells[.., 1]]; axis = 1))
  if kind(h) == "none" { m } else {
    while longest(m) > 1.5 * h { m = refine(m) }
    m
  }
}
