# mesh.dsl - meshes of intervals, triangles, tetrahedra and boxes: generation
# for boxes and regions, Gmsh files, point location.
#
# A mesh is a record:
#   points   f64[n, d]
#   cells    i64[m, d + 1], the corners of each; for boxes i64[m, 2^d], in the
#            order of their coordinates, the last one fastest
#   faces    i64[b, d], the corners of each boundary face (an end, an edge, a
#            triangle); for boxes i64[b, 2^(d - 1)]
#   tags     i64[b], the index of each face's part in names
#   names    list of the names of the boundary's parts
#   region   the meshed region: refinement puts new boundary corners on the
#            region's boundary. For a file it is the domain of its cells, with
#            the names of its physical groups: domain (x, y) in
#            mesh("part.msh").region
#   bisection  data of refine about bisected simplices
#   axes     for boxes: a list of the coordinates of their corners along each
#            axis; points are all combinations, the last axis fastest
# save("u.vtu", (points = m.points, cells = m.cells, point = (u = ...,))) writes
# it for ParaView.

# mesh(what, h; cells): the mesh of a region with cells of about size h, or of a
# Gmsh file, mesh("part.msh"), whose region is the domain of its cells.
#   cells: "simplices", or "boxes" for intervals, rectangles and boxes. Boxes
#   are divided into equal boxes, and these into triangles or tetrahedra. Other
#   plane regions get boundary points at distances h, including corners, and a
#   lattice of equilateral triangles inside. The Delaunay triangulation of both
#   is smoothed by moving points to the centre of their neighbours. A ball is a
#   mapped box. Curved boundaries become polygons with corners on the curve;
#   elements of order 2 and 3 have curved sides.
#   Other regions of space need Gmsh, a separate program that is not required
#   here. Its text formats 2.2 and 4.1 are read. Physical groups name the parts
#   of the boundary; faces without a group are "boundary".
#   Errors: an unsupported region; boxes for another region than a box; a file
#   that is not Gmsh's, with the line.
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
# The directions from the first corner, as columns: X f64[.., d + 1, d] gives
# f64[.., d, d].
_directions_of(X) = {
  A = X[..., 1.., ..] - X[..., ..1, ..]
  swapaxes(A, rank(A) - 2, rank(A) - 1)
}

# ---- faces

# The faces of all cells, i64[m, d + 1, d], with corners in ascending order.
# Face f is the one without corner f.
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

# The faces that belong to one cell only, in ascending order of their keys.
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

# The cell of each face of the mesh, and the index of the face in it. Cells have
# ascending corners.
_owners(cells, faces, n) = {
  F = _cell_faces(cells)
  key = ravel(_face_keys(F, n))
  order = argsort(key)
  at = searchsorted(key[order], _face_keys(_ascending(faces), n); side = "left")
  owner = order[at]
  (owner // shape(cells)[1], owner % shape(cells)[1])
}

# ---- boxes

# The numbers of cells along the edges of a box, and the nodes.
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
# Nodes along one axis with additional nodes at the cuts, which replace inner
# nodes that nearly coincide with them. A section between two cuts with fewer
# cells than half of `parts` gets `parts` cells: otherwise all meshes would
# resolve it equally. The base mesh, with nodes y, decides this; other meshes
# are coarser or finer.
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
# The inner nodes of an axis that do not nearly coincide with a cut.
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
# The tensor grid of some axes as a mesh.
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
# Splits each rectangle by the diagonal towards the nearest corner of the box,
# so that no triangle has two boundary sides.
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
# Splits each box into the six tetrahedra around its diagonal (Kuhn).
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

# ---- point location

# How far outside of a cell, in reference coordinates, a point may be. The
# distance is larger at a curved boundary, which the mesh cuts off.
_slack(m) = if kind(m.region) == "none" { 1e-6 } else {
  if len(m.region.lo) == 2 {
    if max(concat([0.0], m.region.curves[.., 0])) > 0 { 0.1 } else { 1e-6 }
  } else if m.region.region == "ball" {
    0.1
  } else {
    1e-6
  }
}

# For boxes: located by their axes. The result is that of _locator.
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
# place(X f64[n, d]) -> (cell i64[n], its reference coordinates f64[n, d],
# whether the point is in the mesh, or within the tolerance of a curved
# boundary). Cells are found by the grid bins that they overlap; each cell's
# bounding box is enlarged by the fraction `wide` for that. reference(cells, X):
# the reference coordinates of X in cells.
_locator(corners, nodes, slack, wide, reference) = {
  (m, d) = (len(corners), shape(corners)[2])
  (from, to) = (min(nodes; axis = (0, 1)), max(nodes; axis = (0, 1)))
  n = max(1, i64(floor((f64(m) / 4)^(1.0 / d))))
  size_ = (to - from) / n
  # the range of bins that each cell overlaps, along each axis
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
