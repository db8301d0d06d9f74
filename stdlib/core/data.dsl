# data.dsl - data files: load and save by file extension, text files, folders.
#
# Contract:
# - A file is read when the program runs, in order with prints and other
#   effects.
# - One call reads a file once. `atled check` reads none.

# load(path; format, header, separator): the contents of a file, by its
# extension: .npy, .npz, .csv, .tsv, .json, .h5, .hdf5, .vti, .vtu, .pvd, .msh,
# .air, .txt
#   format overrides the extension ("csv" ...). header (of a table): true,
#   false, or none to detect it. separator: one character.
#   .npy gives an array; .npz and .h5 a record. A table gives a record of
#   columns, or a matrix when it has no header and only numbers. .json gives its
#   value; .air a piece of IR, as ir(f, x) makes it. .vti and .vtu give a record
#   with `point` and `cell`. .pvd gives `times` and the list of `pieces`, the
#   contents of the file of each time. .msh gives a mesh of Gmsh: points, lines,
#   triangles, tetrahedra and, in `names`, the numbers of its physical groups.
#   Numbers keep their dtype where the format has one. Errors name the file and
#   the byte or line.
#   At top level the value is an ordinary array or record for all later
#   statements. In a function its type is known only at run time: pass it to a
#   function whose parameter declares the type, f(x: f64[n, m]).
#     save("/tmp/atled-doc.csv", (t = [0.0, 1], u = [1.5, 2.5]))
#     load("/tmp/atled-doc.csv").u   #> [1.5, 2.5]
load(path; format = "", header = none, separator = "") = _load(path, format, header, separator)

# save(path, x; format, header, separator, compress, at): writes x in the format
# of the path's extension: .npy, .npz, .csv, .tsv, .json, .h5, .hdf5, .vti,
# .vtu, .pvd, .air, .txt
#   Writing is atomic: the file is written under another name and then renamed.
#   .h5 and .npz store any value, including solutions and their functions, and
#   load restores it. compress = true compresses .npz, .h5 and .vti. header =
#   false omits a table's names.
#   A solution in .vti becomes fields on a grid for ParaView: of t and x
#   together, or of the space coordinates at time `at` (by default the last). A
#   solution of fem() in .vtu becomes fields at the points of its mesh. For
#   elements of order above 1 these include the midpoints of edges, and for
#   boxes also those of sides and cells.
#   A .pvd file is a time series for ParaView, with name_00000.vtu, or .vti,
#   beside it for each of the times `at`. By default these are the solution's
#   own times, or 101 times when it has more. All files of a series appear, or
#   none.
#     save("/tmp/atled-doc.npy", [1, 2, 3])
#     load("/tmp/atled-doc.npy")     #> [1, 2, 3]
save(path, x; format = "", header = true, separator = "", compress = false, at = none) = {
  if _is_solution(x) {
    if _is_format(path, format, "vti") {
      _save(path, _solution_image(x, at), format, header, separator, compress)
    } else if _is_format(path, format, "vtu") {
      _save(path, _solution_grid(x, at), format, header, separator, compress)
    } else if _is_format(path, format, "pvd") {
      _save(path, _solution_series(x, at), format, header, separator, compress)
    } else {
      _save(path, x, format, header, separator, compress)
    }
  } else { _save(path, x, format, header, separator, compress) }
  none
}

# Decided before the program runs when the path is known, so that only the
# requested format is compiled.
_is_format(path, format, name) =
  if format == "" { ends_with(lower(path), "." + name) } else { format == name }
_is_solution(x) = if kind(x) == "record" { has(x, "info") and has(x, "kind") } else { false }

# The fields of a solution at the points of a uniform grid: of t alone; of t and
# x together, x first; or of the space coordinates at one time.
_solution_image(s, at) = {
  coords = list(...s.info.coords)
  timed = coords[0] == "t"
  together = timed and kind(at) == "none" and len(coords) == 2
  first = if timed and len(coords) > 1 { 1 } else { 0 }
  space = each(first, len(coords))
  n = len(space)
  lo = map(k -> f64(s.info.lo[k]), each(len(coords)))
  hi = map(k -> f64(s.info.hi[k]), each(len(coords)))
  many = if has(s, "x") and n == 1 and together { len(s.x) } else { if n == 3 { 41 } else { 201 } }
  axes = map(k -> linspace(lo[k], hi[k], many), space)
  names = list(...s.info.fields)
  grids = map(f -> if together {
    map(t -> field(s, f)(t, axes[0]), linspace(lo[0], hi[0], 201))'
  } else {
    if first == 0 and n == 1 {
      field(s, f)(axes[0])
    } else {
      _on_grid(field(s, f), axes, many,
        if timed { list(if kind(at) == "none" { hi[0] } else { f64(at) }) } else { list() })
    }
  }, names)
  step = map(k -> (hi[k] - lo[k]) / (many - 1), space)
  point = record(s.info.fields, grids)
  if together {
    (origin = [lo[1], lo[0]], spacing = [step[0], (hi[0] - lo[0]) / 200], dims = [many, 201],
      point = point)
  } else {
    (origin = map(k -> lo[k], space), spacing = step, dims = map(k -> many, space), point = point)
  }
}

# The fields of a solution on a mesh, at the mesh's points. Elements of order 2
# or 3 give quadratic cells, whose edge midpoints are points, too.
_solution_grid(s, at) = {
  if not has(s, "mesh") {
    _refuse(
      "a solution of {s.method}() lies on no mesh, which a .vtu file holds: save it as .vti, an "
      "image, or with its values and functions as .h5")
  }
  timed = contains(list(...s.info.coords), "t")
  if not timed and kind(at) != "none" { _refuse("at is a time, and this solution has none") }
  G = _grid_of(s)
  end = if not timed { 0.0 } else if kind(at) == "none" { s.times[-1] } else { f64(at) }
  time = if timed { list(end) } else { list() }
  (names, values) = (list(), list())
  for f in s.info.fields {
    u = field(s, f)
    if kind(u) == "function" {
      names = push(names, f)
      values = push(values, _on_points(s, u, G.points, time))
    } else {
      # eigenfunctions
      for k in each(len(u)) {
        names = push(names, "{f}_{k}")
        values = push(values, _on_points(s, u[k], G.points, time))
      }
    }
  }
  (...G, point = record(names, values))
}
_grid_of(s) = _vtk_cells(s.mesh, if has(s, "settings") { field(s.settings, "order", 1) } else { 1 })
# Points and cells of a mesh in VTK's layout: linear cells, or quadratic ones
# for an order above 1.
_vtk_cells(m, order) = {
  order = _known(order, "the order of the elements")
  if has(m, "axes") {
    _vtk_boxes(m, order)
  } else if order == 1 {
    (points = m.points, cells = m.cells)
  } else {
    d = shape(m.points)[1]
    n = len(m.points)
    ends = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))[..(1, 3, 6)[d - 1]]
    E = map(e -> { (a, b) = (m.cells[.., e[0]], m.cells[.., e[1]]); min(a, b) * n + max(a, b) },
      list(...ends))
    key = unique(concat(...E))
    middle = 0.5 * (m.points[key // n] + m.points[key % n])
    (points = concat(m.points, middle; axis = 0),
      cells = concat(m.cells, stack(...map(e -> n - 1 + searchsorted(key, e), E); axis = 1);
        axis = 1),
      types = (21, 22, 24)[d - 1])
  }
}
# The corners of the lower and the upper side in cyclic order, then the
# midpoints of edges, of sides and of the cell.
_vtk_boxes(m, order) = {
  order = _known(order, "the order of the elements")
  (_, nodes, X) = _grid_nodes(m.axes, if order == 1 { 1 } else { 2 })
  flat = len(m.axes) == 2
  at = if order == 1 { if flat { [0, 2, 3, 1] } else { [0, 4, 6, 2, 1, 5, 7, 3] } } else {
    if flat { [0, 6, 8, 2, 3, 7, 5, 1, 4] } else {
      [0, 18, 24, 6, 2, 20, 26, 8, 9, 21, 15, 3, 11, 23, 17, 5, 1, 19, 25, 7, 4, 22, 10, 16, 12, 14,
        13]
    }
  }
  (points = X, cells = nodes[.., at],
    types = if order == 1 { (9, 12)[len(m.axes) - 2] } else { (28, 29)[len(m.axes) - 2] })
}
_on_points(s, u, X, time) = {
  order = list()
  for c in s.info.coords {
    if c == "t" { order = push(order, time[0]) } else {
      k = 0
      for o in s.info.coords { if o == c { break } else if o != "t" { k = k + 1 } }
      order = push(order, X[.., k])
    }
  }
  u(...order)
}

# A solution in t and space at many times: the times `at`, or its own when there
# are at most 101, or else 101 evenly spaced ones. Fields have the times as
# their first axis.
_solution_series(s, at) = {
  if not contains(list(...s.info.coords), "t") or len(s.info.coords) == 1 {
    _refuse("a .pvd file is of a solution in t and space; a .vtu or .vti file holds one without t")
  }
  times = if kind(at) != "none" { f64(at) } else if len(s.times) == 0 {
    linspace(f64(s.info.lo[0]), f64(s.info.hi[0]), 101)
  } else if len(s.times) <= 101 { f64(s.times) } else { linspace(s.times[0], s.times[-1], 101) }
  if rank(times) != 1 { _refuse("save(\"name.pvd\", s; at = ...) takes the times as a vector") }
  names = s.info.fields
  if has(s, "mesh") {
    G = _grid_of(s)
    (times = times, ...G,
      point = record(names,
        map(f -> map(t -> _on_points(s, field(s, f), G.points, list(t)), times), list(...names))))
  } else {
    first = _solution_image(s, times[0])
    (times = times, ...first,
      point = record(names,
        map(f -> map(t -> field(_solution_image(s, t).point, f), times), list(...names))))
  }
}

# f(time..., x, y, ...) at all points of a tensor grid with `many` points on
# each axis.
_on_grid(f, axes, many, time) = {
  n = len(axes)
  if n == 1 { f(...time, axes[0]) } else {
    dims = map(a -> many, axes)
    places =
      map(
        k ->
        ravel(broadcast_to(reshape(axes[k], ...map(i -> if i == k { many } else { 1 }, each(n))),
          ...dims)),
        each(n))
    values = f(...time, ...places)
    reshape(values, ...dims, ...shape(values)[1..])
  }
}

# read_text(path): the contents of a text file, as one string. The file must be
# UTF-8; an error names the line.
#     write_text("/tmp/atled-doc.txt", "one\ntwo\n")
#     read_text("/tmp/atled-doc.txt")   #> one two
read_text(path) = _read_text(path)

# read_lines(path): the lines of a file, as a list of strings without line ends
#     write_text("/tmp/atled-doc.txt", "one\ntwo\n")
#     len(read_lines("/tmp/atled-doc.txt"))   #> 2
read_lines(path) = lines(read_text(path))

# write_text(path, text): writes a string, or a list of strings as lines, to a
# file
#     write_text("/tmp/atled-doc.txt", list("one", "two"))
#     read_lines("/tmp/atled-doc.txt")[1]   #> two
write_text(path, text) = {
  _write_text(path, text)
  none
}

# exists(path): whether there is a file or folder with this name
#     exists("/")   #> true
exists(path) = _exists(path)

# env(name): an environment variable, a string. If it is not set, the result is
# `default`; without a default this is an error. Needs the host's permission.
#     env("NO_SUCH_VARIABLE", "none")   #> none
env(name, default = none) = {
  text = _environment(name)
  if not same(text, none) { text } else if kind(default) != "none" { default } else {
    error("the environment has no variable `{name}`; env(name, default) gives one that is missing")
  }
}

# list_files(folder, ending): the sorted names in a folder that have this
# ending; without `ending` all names. Names that begin with a dot are omitted.
#     list_files("/tmp", ".no-such-ending")   #> list()
list_files(folder = ".", ending = "") = _list_files(folder, ending)
