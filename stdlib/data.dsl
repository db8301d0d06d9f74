# data.dsl - files of data: load and save by a file's ending, texts, folders.
#
# A file is read when the program runs, in its turn among prints and other effects; it is never read twice for one call, and not at all by `atled check`.

# load(path; format, header, separator): what a file holds, by its ending: .npy, .npz, .csv, .tsv, .json, .h5, .hdf5, .vti, .vtu, .msh, .air, .txt
#   format says the format instead ("csv" ...); header (of a table): true, false, or none to see for itself; separator: one character.
#   .npy: an array; .npz, .h5: a record; a table: a record of columns, or a matrix when there is no header and all are numbers; .json: what is written
#   there; .air: a piece of IR, as ir(f, x) makes it; .vti, .vtu: a record with `point` and `cell`; .msh: meshes of Gmsh, points, lines, triangles, tetrahedra and the numbers of their parts in `names`. Numbers keep their dtype where the format has one. Errors name the file and the byte or line.
#   At top level the value is an ordinary array or record for every statement that follows. In a function its type is known only when it runs: hand
#   it to a function whose parameter says what it is, f(x: f64[n, m]).
#     save("/tmp/atled-doc.csv", (t = [0.0, 1], u = [1.5, 2.5]))
#     load("/tmp/atled-doc.csv").u   #> [1.5, 2.5]
load(path; format = "", header = none, separator = "") = _load(path, format, header, separator)

# save(path, x; format, header, separator, compress, at): writes x, by the ending of the path: .npy, .npz, .csv, .tsv, .json, .h5, .hdf5, .vti, .vtu, .air, .txt
#   The file appears whole or not at all: it is written beside and then renamed. Any value goes into .h5 and .npz, solutions and their functions too, and
#   comes back as it was. compress = true packs .npz, .h5 and .vti. A solution goes into .vti as fields on a grid, for ParaView: of t and x together,
#   or of the space coordinates at time `at` (the last one). header = false leaves out a table's names.
#     save("/tmp/atled-doc.npy", [1, 2, 3])
#     load("/tmp/atled-doc.npy")     #> [1, 2, 3]
save(path, x; format = "", header = true, separator = "", compress = false, at = none) = {
  if _is_solution(x) {
    if bool(_has_format(path, format, "vti")) {
      _save(path, _solution_image(x, at), format, header, separator, compress)
    } else {
      _save(path, x, format, header, separator, compress)
    }
  } else { _save(path, x, format, header, separator, compress) }
  none
}

_is_solution(x) = if kind(x) == "record" { has(x, "info") and has(x, "kind") } else { false }

# The fields of a solution at the points of a uniform grid: of t alone; of t and x together, x first; of the space coordinates at one time.
_solution_image(s, at) = {
  coords = list(...s.info.coords)
  timed = coords[0] == "t"
  together = timed and kind(at) == "none" and len(coords) == 2
  first = if timed and len(coords) > 1 { 1 } else { 0 }
  space = list(...(first..len(coords)))
  n = len(space)
  lo = map(k -> f64(s.info.lo[k]), list(...(0..len(coords))))
  hi = map(k -> f64(s.info.hi[k]), list(...(0..len(coords))))
  many = if has(s, "x") and n == 1 and together { len(s.x) } else { if n == 3 { 41 } else { 201 } }
  axes = map(k -> linspace(lo[k], hi[k], many), space)
  names = list(...s.info.fields)
  grids = map(f -> if together {
    map(t -> field(s, f)(t, axes[0]), linspace(lo[0], hi[0], 201))'
  } else {
    if first == 0 and n == 1 {
      field(s, f)(axes[0])
    } else {
      _on_grid(field(s, f), axes, many, if timed { list(if kind(at) == "none" { hi[0] } else { f64(at) }) } else { list() })
    }
  }, names)
  step = map(k -> (hi[k] - lo[k]) / (many - 1), space)
  point = record(s.info.fields, grids)
  if together { (origin = [lo[1], lo[0]], spacing = [step[0], (hi[0] - lo[0]) / 200], dims = [many, 201], point = point) } else {
    (origin = map(k -> lo[k], space), spacing = step, dims = map(k -> many, space), point = point)
  }
}

# f(time..., x, y, ...) at all points of the axes, many on each.
_on_grid(f, axes, many, time) = {
  n = len(axes)
  if n == 1 { f(...time, axes[0]) } else {
    dims = map(a -> many, axes)
    places = map(k -> ravel(broadcast_to(reshape(axes[k], ...map(i -> if i == k { many } else { 1 }, list(...(0..n)))), ...dims)),
      list(...(0..n)))
    reshape(f(...time, ...places), ...dims)
  }
}

# read_text(path): the text of a file, as one string. UTF-8, or an error that names the line.
#     write_text("/tmp/atled-doc.txt", "one\ntwo\n")
#     read_text("/tmp/atled-doc.txt")   #> one two
read_text(path) = _read_text(path)

# read_lines(path): the lines of a file, as a list of strings without line ends
#     write_text("/tmp/atled-doc.txt", "one\ntwo\n")
#     len(read_lines("/tmp/atled-doc.txt"))   #> 2
read_lines(path) = lines(read_text(path))

# write_text(path, text): writes a string, or a list of strings as lines, to a file
#     write_text("/tmp/atled-doc.txt", list("one", "two"))
#     read_lines("/tmp/atled-doc.txt")[1]   #> two
write_text(path, text) = {
  _write_text(path, text)
  none
}

# exists(path): whether there is a file or folder of this name
#     exists("/")   #> true
exists(path) = _exists(path)

# list_files(folder, ending): the names in a folder that have this ending, in order; without `ending` all. Names that begin with a point are left out.
#     list_files("/tmp", ".no-such-ending")   #> list()
list_files(folder = ".", ending = "") = _list_files(folder, ending)
