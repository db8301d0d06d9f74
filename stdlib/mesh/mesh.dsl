# mesh.dsl - meshes of intervals, triangles, tetrahedra and boxes: made for
# boxes and regions, read from Gmsh's files, refined, searched, drawn.
#
# A mesh is a record:
#   points   f64[n, d]
#   cells    i64[m, d + 1], the corners of each; of boxes i64[m, 2^d], in the
#            order of their coordinates, the last one fastest
#   faces    i64[b, d], the corners of each face on the boundary (an end, an
#            edge, a triangle); of boxes i64[b, 2^(d - 1)]
#   tags     i64[b], which of names the face belongs to
#   names    list of the names of the boundary's parts
#   region   what it is a mesh of: refinement puts new corners of the boundary
#            where the region's boundary is. Of a file what its cells fill, with
#            the names of its physical groups: domain (x, y) in
#            mesh("part.msh").region
#   bisection  what refine knows of simplices that it has cut in two
#   axes     of boxes: a list of the coordinates of their corners along each
#            axis, of which points are all combinations, the last axis fastest
# save("u.vtu", (points = m.points, cells = m.cells, point = (u = ...,))) writes
# it for ParaView.

# mesh(what, h; cells): the mesh of a region with cells of about size h, or of a
# file of Gmsh, mesh("part.msh"), whose region is what it fills
#   cells: "simplices", or "boxes", which rectangles and boxes can be cut into,
#   too. Boxes are cut into equal boxes and these into triangles or tetrahedra;
#   other regions of the plane get points on their boundary at distances h,
#   corners kept, a lattice of equilateral triangles inside, and Delaunay's
#   triangulation of both, whose points are moved to the middle of their
#   neighbours. A ball is a box drawn onto it. Curved boundaries become polygons
#   with corners on the curve; elements of order 2 and 3 bend their sides. Other
#   regions of space are for Gmsh, a program of its own that nothing here needs:
#   of its files the text formats 2.2 and 4.1 are read; physical groups name the
#   parts of the boundary, what has none is "boundary".
#   Errors: a region that no mesher here serves, boxes of a region that is none,
#   a file that is none of Gmsh's, with its line.
#     m = mesh(box([0, 1], [0, 1]), 0.5);
#     shape(m.cells)                #> (8, 3)
#     sum(cell_sizes(m))            #> 1.0
#     shape(mesh(box([0, 1], [0, 1]), 0.5; cells = "boxes").cells)      #> (4, 4)
mesh(what, h = none; cells = "simplices") = if kind(what) == "string" {
  if cells != "simplices" {
    _refuse(
      "mesh(\"part.msh\") reads simplices; boxes are made of a region: mesh(region, h; cells = "
      "\"boxes\")")
  }
  _read_msh(what)
} else {
  assert(has(what, "region"),
    "mesh(region, h) takes a region, such as box([0, 1], [0, 1]) or disk([0, 0], 1), or the name "
    "of a .msh file")
  step = if kind(h) == "none" { max(what.hi - what.lo) / 32 } else { f64(h) }
  assert(step > 0, "mesh(region, h): the size h of the cells is positive")
  if has(what, "mesh") and cells == "simplices" {
    _mesh_in_region(what, h)
  } else if _one_of("mesh has the cells", cells, list("simplices", "boxes")) == 1 {
    _mesh_of_boxes(what, step)
  } else {
    _unbisected(if what.region == "box" { _box_mesh(what, step) } else { _region_mesh(what, step) })
  }
}

# cell_sizes(m): the lengths, areas or volumes of a mesh's cells
#     cell_sizes(mesh(box([0, 2]), 1.0))      #> [1, 1]
cell_sizes(m) = {
  d = shape(m.points)[1]
  cell = _cell_of(m, d)
  X = m.points[_framed(cell, m.cells)]
  abs(_det_inverse(_directions_of(X), d)[0]) /
    (if cell.boxes { 1.0 } else if d == 3 { 6.0 } else { f64(d) })
}
# Columns are the directions from the first corner: X f64[.., d + 1, d] gives
# f64[.., d, d]
_directions_of(X) = {
  A = X[..., 1.., ..] - X[..., ..1, ..]
  swapaxes(A, rank(A) - 2, rank(A) - 1)
}

# ---- faces

# The faces of all cells, face f being the one without corner f: i64[m, d + 1,
# d], with corners in ascending order
_cell_faces(cells) = {
  n = shape(cells)[1]
  stack(...map(f -> cells[.., concat(iota(f), iota(n - 1 - f) + f + 1)], each(n)); axis = 1)
}
_face_keys(F, n) = {
  key = 0
  for a in each(shape(F)[-1]) { key = key * n + F[..., a] }
  key
}
_ascending(cells) = sort(cells; axis = 1)

# The faces that belong to one cell only, ascending by their keys
_boundary_faces(cells, n) = {
  F = _cell_faces(_ascending(cells))
  F = reshape(F, -1, shape(F)[2])
  key = _face_keys(F, n)
  order = argsort(key)
  k = key[order]
  differs = k[1..] != k[..-1]
  single = concat([true], differs) and concat(differs, [true])
  F[order[single]]
}

# The cell that each face of the mesh belongs to, and which of its faces it is:
# cells with ascending corners
_owners(cells, faces, n) = {
  F = _cell_faces(cells)
  key = ravel(_face_keys(F, n))
  order = argsort(key)
  at = searchsorted(key[order], _face_keys(_ascending(faces), n); side = "left")
  owner = order[at]
  (owner // shape(cells)[1], owner % shape(cells)[1])
}

# ---- boxes

# How many cells each edge of a box is cut into, and where
_box_axes(b, h) = {
  (lo, hi) = (b.lo, b.hi)
  of = h -> {
    n = max(1, i64(ceil((hi - lo) / h - 1e-9)))
    (n, map(k -> lo[k] + (hi[k] - lo[k]) * (iota(n[k] + 1) / f64(n[k])), each(len(lo))))
  }
  (n, axes) = of(h)
  if has(b, "cuts") {
    cut = map((x, y, cuts) -> if _is_fixed(len(cuts)) { x } else { _cut_axis(x, y, cuts, b) }, axes,
      of(b.base.h)[1], b.cuts)
    (map(x -> len(x) - 1, cut), cut)
  } else { (n, axes) }
}
# Nodes along one axis with more of them at the cuts, which take the place of
# inner nodes that are almost there.
# Between two of them with fewer cells than half of `parts` there are so many:
# else what is there would look alike on all meshes. Where there are few the
# mesh with nodes y says, of which others are coarser or finer.
_cut_axis(x, y, cuts, region) = {
  inner = _inner_nodes(x, cuts)
  before = _inner_nodes(y, cuts)
  parts = if len(cuts) > 0 { region.parts } else { 1 }
  ends = concat(x[..1], cuts, x[-1..])
  out = x[..1]
  for i in 1..len(ends) {
    (a, b) = (ends[i - 1], ends[i])
    few = len(cuts) > 0 and 2 * (len(before[before > a and before < b]) + 1) < region.base.parts
    own = inner[inner > a and inner < b]
    equal = a + (b - a) * (1 + iota(if few { parts - 1 } else { 0 })) / f64(parts)
    out = concat(out, own[own < inf and not few], equal, expand(b, 0))
  }
  out
}
# Those of an axis within it that are not almost a cut
_inner_nodes(x, cuts) = {
  near = 0.05 * (x[1] - x[0])
  inner = x[1..-1]
  inner[not (map(v -> min(concat([inf], abs(cuts - v))), inner) < near)]
}
_mesh_of_boxes(r, h) = {
  if r.region != "box" {
    _refuse(
      "cells = \"boxes\" is for intervals, rectangles and boxes; this region is none, and is cut "
      "into simplices")
  }
  if len(r.lo) == 1 { _box_mesh(r, h) } else { _grid_mesh(_box_axes(r, h)[1], r) }
}
# The grid of some axes as a mesh
_grid_mesh(axes, r) = {
  (_, cells, points) = _grid_nodes(axes, 1)
  (owner, side) = _grid_sides(axes)
  (points = points, cells = cells,
    faces = _faces_at_sides((d = len(axes), boxes = true), cells, owner, side), tags = side,
    names = r.names, region = r, axes = axes)
}
_faces_at_sides(cell, cells, owner, side) =
  map((row, k) -> row[k], cells[owner], _face_nodes(cell, 1)[side])
_box_mesh(b, h) = {
  d = _known(len(b.lo), "the dimension")
  (lo, hi) = (b.lo, b.hi)
  (n, axes) = _box_axes(b, h)
  (points, cells) = if d == 1 { (expand(axes[0], 1), stack(iota(n[0]), iota(n[0]) + 1; axis = 1)) }
  else if d == 2 { _box_triangles(axes[0], axes[1], n[0], n[1]) }
  else { _box_tetrahedra(axes, n[0], n[1], n[2]) }
  F = _boundary_faces(cells, len(points))
  middle = mean(points[F]; axis = 1)
  tags = 0 * F[.., 0]
  tol = 1e-9 * max(hi - lo)
  for k in each(d) {
    tags = where(abs(middle[.., k] - lo[k]) < tol, 2k,
      where(abs(middle[.., k] - hi[k]) < tol, 2k + 1, tags))
  }
  (points = points, cells = cells, faces = F, tags = tags, names = b.names, region = b)
}
# Each rectangle by the diagonal that leads to the nearest corner of the box, so
# that no triangle has two sides on the boundary
_box_triangles(x, y, nx, ny) = {
  points = stack(ravel(expand(x, 1) + 0 * y), ravel(0 * expand(x, 1) + y); axis = 1)
  i = ravel(expand(iota(nx), 1) + 0 * iota(ny))
  j = ravel(0 * expand(iota(nx), 1) + iota(ny))
  a = i * (ny + 1) + j
  b = a + ny + 1
  rising = (2i < nx) == (2j < ny)
  lower = stack(a, b, where(rising, b + 1, a + 1); axis = 1)
  upper = stack(where(rising, a, b), b + 1, a + 1; axis = 1)
  (points, reshape(stack(lower, upper; axis = 1), -1, 3))
}
# Each box into the six tetrahedra around its diagonal (Kuhn)
_box_tetrahedra(axes, nx, ny, nz) = {
  (x, y, z) = (expand(expand(axes[0], 1), 2), expand(axes[1], 1), axes[2])
  zero = 0 * x + 0 * y + 0 * z
  points = stack(ravel(zero + x), ravel(zero + y), ravel(zero + z); axis = 1)
  (sx, sy) = ((ny + 1) * (nz + 1), nz + 1)
  a = ravel(expand(expand(iota(nx) * sx, 1), 2) + expand(iota(ny) * sy, 1) + iota(nz))
  parts = list()
  for p in list((sx, sy), (sx, 1), (sy, sx), (sy, 1), (1, sx), (1, sy)) {
    parts = push(parts, stack(a, a + p[0], a + p[0] + p[1], a + sx + sy + 1; axis = 1))
  }
  (points, reshape(stack(...parts; axis = 1), -1, 4))
}

# ---- where points lie

# How far outside of a cell, in its coordinates, a point may be: next to a
# curved boundary, which the mesh cuts off, further than else
_slack(m) = if kind(m.region) == "none" { 1e-6 } else {
  if len(m.region.lo) == 2 {
    if max(concat([0.0], m.region.curves[.., 0])) > 0 { 0.1 } else { 1e-6 }
  } else if m.region.region == "ball" {
    0.1
  } else {
    1e-6
  }
}

# Of boxes: found by their axes. What it gives is said below.
_grid_locator(axes) = X -> {
  P = stop_gradient(X)
  cell = 0
  ξ = list()
  for (a, x) in enumerate(axes) {
    i = clamp(searchsorted(x, P[.., a]) - 1, 0, len(x) - 2)
    cell = cell * (len(x) - 1) + i
    ξ = push(ξ, (X[.., a] - x[i]) / (x[i + 1] - x[i]))
  }
  ξ = stack(...ξ; axis = 1)
  (cell, ξ, min(min(stop_gradient(ξ), 1 - stop_gradient(ξ)); axis = 1) > -1e-6)
}
# place(X f64[n, d]) -> (cell i64[n], its coordinates f64[n, d] there, whether
# the point is in the mesh, or as near as a curved boundary may be). Cells are
# found by the boxes of a grid that they overlap, these being by a part `wide`
# larger than the nodes of a cell need. reference(cells, X): the coordinates of
# X in cells.
_locator(corners, nodes, slack, wide, reference) = {
  (m, d) = (len(corners), shape(corners)[2])
  (from, to) = (min(nodes; axis = (0, 1)), max(nodes; axis = (0, 1)))
  n = max(1, i64(floor((f64(m) / 4)^(1.0 / d))))
  size_ = (to - from) / n
  # the boxes that each cell reaches, by their numbers along the axes
  reach = p -> {
    (lo, hi) = (min(p; axis = 0), max(p; axis = 0))
    pad = wide * (hi - lo)
    stack(clamp(i64(floor((lo - pad - from) / size_)), 0, n - 1),
      clamp(i64(floor((hi + pad - from) / size_)), 0, n - 1))
  }
  ends = map(reach, nodes)
  (a, b) = (ends[.., 0], ends[.., 1])
  reached = b - a + 1
  many = prod(reached; axis = 1)
  of = repeat(iota(m), many)
  k = iota(len(of)) - repeat(cumsum(many) - many, many)
  bin = 0 * k
  for i in each(d) {
    w = reached[.., i][of]
    bin = bin * n + a[.., i][of] + k % w
    k = k // w
  }
  order = argsort(bin)
  starts = _starts(bin, n^d)
  cells = of[order]
  X -> {
    P = stop_gradient(X)
    at = clamp(i64(floor((P - from) / size_)), 0, n - 1)
    b = 0 * at[.., 0]
    for i in each(d) { b = b * n + at[.., i] }
    (first, last) = (starts[b], starts[b + 1])
    best = 0.0 * P[.., 0] - inf
    cell = 0 * b
    turns = max(concat([0], last - first))
    k = 0
    while k < turns {
      c = cells[min(first + k, len(cells) - 1)]
      ξ = reference(c, P)
      inner = where(first + k < last, min(min(ξ; axis = 1), 1 - sum(ξ; axis = 1)), -inf)
      cell = where(inner > best, c, cell)
      best = max(best, inner)
      k = k + 1
    }
    (cell, reference(cell, X), best > -slack)
  }
}
_reference_of(corners, X) = {
  (_, I) = _det_inverse(_directions_of(corners), shape(X)[1])
  sum(I * expand(X - corners[.., 0, ..], 1); axis = 2)
}
