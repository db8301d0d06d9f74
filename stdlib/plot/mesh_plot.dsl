# mesh_plot.dsl - plots of meshes in the plane, and mesh data for ParaView.
#
# solution_plot.dsl plots fields on meshes.

_plot_mesh(m, look; title = "", xlabel = "", ylabel = "", size = none, dpi = 192, file = "",
  aspect = 1, ...options) = {
  assert(shape(m.points)[1] == 2,
    "plot(m): meshes of the plane are drawn; save(\"m.vtu\", mesh_data(m)) shows others in "
    "ParaView")
  T = m.cells
  E = concat(...map(e -> T[.., e],
    if has(m, "axes") {
      list([0, 1], [0, 2], [1, 3], [2, 3])
    } else {
      list([0, 1], [1, 2], [0, 2])
  }); axis = 0)
  n = len(m.points)
  key = unique(min(E; axis = 1) * n + max(E; axis = 1))
  edges = stack(key // n, key % n; axis = 1)
  _picture(
    list(_edge_layer(m, edges, (...look, width = if look.width == 0 { 0.5 } else { look.width })));
    title = title,
    xlabel = xlabel, ylabel = ylabel, size = size, dpi = dpi, file = file, aspect = aspect,
    ...options)
}

_edge_layer(m, edges, look) = {
  X = m.points[edges]
  gap = 0 * X[.., 0, 0] + nan
  (kind = "line", x = ravel(stack(X[.., 0, 0], X[.., 1, 0], gap; axis = 1)),
    y = ravel(stack(X[.., 0, 1], X[.., 1, 1], gap; axis = 1)), label = "", ...look)
}

# mesh_data(m; ...fields): a mesh with values at its points, in the form that
# save("u.vtu", ...) writes for ParaView. Each field is a function of the
# coordinates, or a value for each point.
#     m = mesh(box([0, 1], [0, 1]), 0.5)
#     save("/tmp/atled-doc.vtu", mesh_data(m; u = (x, y) -> x * y))
#     load("/tmp/atled-doc.vtu").point.u       #> [0, 0, 0, 0, 0.25, 0.5, 0, 0.5, 1]
mesh_data(m; ...fields) =
  (..._vtk_cells(m, 1),
    point = record(list(...keys(fields)), map(f -> _at_corners(m, f), list(...values(fields)))))
_at_corners(m, f) = if kind(f) != "function" { f } else {
  X = m.points
  if shape(X)[1] == 1 {
    f(X[.., 0])
  } else if shape(X)[1] == 2 {
    f(X[.., 0], X[.., 1])
  } else {
    f(X[.., 0], X[.., 1], X[.., 2])
  }
}
