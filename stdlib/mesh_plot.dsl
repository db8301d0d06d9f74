# mesh_plot.dsl - pictures of meshes, and of fields on meshes of the plane: heat maps and contours of values at the points of a grid, with the mesh's edges as lines.

# What plot takes these for: a mesh, a solution on a mesh, or a field of one by itself
_is_on_mesh(a, b) = if kind(a) == "record" {
  (has(a, "cells") and has(a, "faces")) or (has(a, "mesh") and kind(b) != "record")
} else { kind(a) == "function" and kind(b) == "none" }

_plot_on_mesh(a, look; title = "", xlabel = "", ylabel = "", size = none, dpi = 192, file = "", aspect = 1, ...options) =
  if kind(a) == "function" {
    where_ = a()
    if shape(where_.mesh.points)[1] == 1 {
      x = linspace(min(where_.mesh.points), max(where_.mesh.points), 601)
      layer = (kind = "line", x = x, y = a(x), label = "", ...look)
      _picture(list(layer); title = title, xlabel = _word(xlabel, where_.coords[0], ""), ylabel = _word(ylabel, where_.label, ""),
        size = size, dpi = dpi, file = file, ...options)
    } else {
      data = _mesh_samples(a)
      layers = list((kind = "heat", x = data.x, y = data.y, z = data.z, cells = false, label = ""),
        _edge_layer(where_.mesh, where_.mesh.faces, (...look, colour = "black", width = 1)))
      _coloured(layers; title = title, xlabel = _word(xlabel, data.xlabel, ""), ylabel = _word(ylabel, data.ylabel, ""),
        zlabel = data.label, size = size, dpi = dpi, file = file, aspect = aspect, ...options)
    }
  } else if has(a, "cells") {
    assert(shape(a.points)[1] == 2,
      "plot(m): meshes of the plane are drawn; save(\"m.vtu\", mesh_data(m)) shows others in ParaView")
    T = a.cells
    E = concat(T[.., [0, 1]], T[.., [1, 2]], T[.., [0, 2]]; axis = 0)
    n = len(a.points)
    key = unique(min(E; axis = 1) * n + max(E; axis = 1))
    edges = stack(key // n, key % n; axis = 1)
    _picture(list(_edge_layer(a, edges, (...look, width = if look.width == 0 { 0.5 } else { look.width }))); title = title,
      xlabel = xlabel, ylabel = ylabel, size = size, dpi = dpi, file = file, aspect = aspect, ...options)
  } else {
    panels = list()
    for f in a.info.fields {
      u = field(a, f)
      if kind(u) == "function" {
        for p in _component_panels(u, f) { panels = push(panels, p) }
      } else {
        # of an eigenproblem the first two
        for k in list(...(0..min(2, len(u)))) { for p in _component_panels(u[k], "{f}[{k}]") { panels = push(panels, p) } }
      }
    }
    _out(_figure_of(panels, title, (len(panels) + 1) // 2, if len(panels) > 1 { 2 } else { 1 }, size, dpi), file)
  }
_component_panels(u, name) = {
  where_ = u()
  data = _mesh_samples(u)
  pick = if rank(data.z) == 3 { list(...(0..shape(data.z)[2])) } else { list(-1) }
  map(c -> (..._panel(), title = if c < 0 { name } else { "{name}[{c}]" }, xlabel = where_.coords[0], ylabel = where_.coords[1],
    aspect = 1, layers = list((kind = "heat", x = data.x, y = data.y, z = if c < 0 { data.z } else { data.z[.., .., c] },
      label = ""))), pick)
}

_edge_layer(m, edges, look) = {
  X = m.points[edges]
  gap = 0 * X[.., 0, 0] + nan
  (kind = "line", x = ravel(stack(X[.., 0, 0], X[.., 1, 0], gap; axis = 1)),
    y = ravel(stack(X[.., 0, 1], X[.., 1, 1], gap; axis = 1)), label = "", ...look)
}

# A field of the plane at the points of a grid, NaN outside of its mesh
_mesh_samples(u) = {
  where_ = u()
  X = where_.mesh.points
  assert(shape(X)[1] == 2, "fields on meshes of the plane are drawn; save(\"u.vtu\", mesh_data(m; ...)) shows others in ParaView")
  (lo, hi) = (min(X; axis = 0), max(X; axis = 0))
  n = 201
  x = linspace(lo[0], hi[0], n)
  y = linspace(lo[1], hi[1], n)
  z = u(expand(x, 1) + 0 * y, 0 * expand(x, 1) + y)
  (x = x, y = y, z = z, label = where_.label, xlabel = where_.coords[0], ylabel = where_.coords[1])
}

# mesh_data(m; ...fields): a mesh with values at its points, as save("u.vtu", ...) writes it for ParaView: a function of the coordinates, or values for each point
#     m = mesh(box([0, 1], [0, 1]), 0.5)
#     save("/tmp/atled-doc.vtu", mesh_data(m; u = (x, y) -> x * y))
#     load("/tmp/atled-doc.vtu").point.u       #> [0, 0, 0, 0, 0.25, 0.5, 0, 0.5, 1]
mesh_data(m; ...fields) =
  (points = m.points, cells = m.cells,
    point = record(list(...keys(fields)), map(f -> _at_corners(m, f), list(...values(fields)))))
_at_corners(m, f) = if kind(f) != "function" { f } else {
  X = m.points
  if shape(X)[1] == 1 { f(X[.., 0]) } else if shape(X)[1] == 2 { f(X[.., 0], X[.., 1]) } else { f(X[.., 0], X[.., 1], X[.., 2]) }
}
