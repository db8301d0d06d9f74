# solution_plot.dsl - plots of solutions and their fields: curves, profiles,
# heat maps with streamlines, slices, animations.
#
# plot, heatmap, contour, surface and animate use it when they are given a
# solution.
#
# The coordinates determine the plot. One coordinate gives curves. t and x give
# a heat map and profiles. The plane gives a heat map for each requested time,
# for vectors their norm and streamlines. Space gives the plane through the
# middle. A field of a solution describes itself when it is called without
# coordinates.

# ---- fields to draw

# The fields of a solution, or one field, as records: u, a function of (t,
# space...); label, coords, lo, hi; time, the index of t or -1; size, 0 for a
# scalar or the number of components; mesh or none.
_drawn_fields(name, what) = if kind(what) == "function" {
  assert(accepts(what, 0),
    "{name}: a function is drawn on an interval, plot(f, (a, b)), or over a grid, heatmap(x, y, f)")
  here = what()
  assert(kind(here) == "record",
    "{name}: a function is drawn on an interval, plot(f, (a, b)), or over a grid, heatmap(x, y, f)")
  list(_drawn_as(what, here.label, here.coords, here.lo, here.hi, here.mesh))
} else {
  assert(has(what, "kind") and has(what, "info"),
    "{name}: this record is no solution; overlay lays pictures over one another")
  assert(what.kind == "ode" or what.kind == "pde",
    "{name}: this record is no solution; overlay lays pictures over one another")
  i = what.info
  mesh = if has(what, "mesh") { what.mesh } else { none }
  out = list()
  for f in i.fields {
    u = field(what, f)
    if kind(u) == "function" {
      out = push(out, _drawn_as(u, f, i.coords, i.lo, i.hi, mesh))
    } else if kind(u) == "list" {
      # the first two of an eigenproblem
      for k in each(min(2, len(u))) {
        out = push(out, _drawn_as(u[k], "{f}[{k}]", i.coords, i.lo, i.hi, mesh))
      }
    }
  }
  out
}
_drawn_as(u, label, coords, lo, hi, mesh) = {
  time = -1
  for (k, c) in enumerate(coords) { if c == "t" and len(coords) > 1 { time = k } }
  space = list()
  for k in each(len(coords)) { if k != time { space = push(space, k) } }
  middle = map(k -> 0.5 * (lo[k] + hi[k]), each(len(coords)))
  y = u(...middle)
  (u = u, label = label, coords = coords, lo = lo, hi = hi, mesh = mesh, time = time, space = space,
    size = if rank(y) == 0 { 0 } else { len(y) })
}
# One of them, by its label in the solution; by default the first.
_drawn_field(name, what, label) = {
  fields = _drawn_fields(name, what)
  out = fields[0]
  found = label == ""
  for f in fields { if f.label == label { out = f; found = true } }
  if not found { error("{name}: the solution has no field {label}") }
  out
}

# A component of a field, as a field.
_component(F, c) = if F.size == 0 { F } else {
  (...F, u = (...p) -> { y = F.u(...p); moveaxis(y, rank(y) - 1, 0)[c] }, label = "{F.label}[{c}]",
    size = 0)
}
_components(F) = if F.size == 0 { list(F) } else { map(c -> _component(F, c), each(F.size)) }

# A field at one time on a grid of about n by n points, equally spaced in x and
# y, in the plane of its first two space coordinates, through the middle of the
# third: values [m, n], or [m, n, components].
_sampled_plane(F, t, n) = {
  (a, b) = (F.space[0], F.space[1])
  r = sqrt(clamp((F.hi[a] - F.lo[a]) / (F.hi[b] - F.lo[b]), 1 / 6, 6.0))
  x = linspace(F.lo[a], F.hi[a], i64(round(n * r)))
  y = linspace(F.lo[b], F.hi[b], i64(round(n / r)))
  (X, Y) = (expand(x, 1) + 0 * y, 0 * expand(x, 1) + y)
  at = map(k -> if k == F.time { f64(t) } else if k == a { X } else if k ==
    b { Y } else { 0.5 * (F.lo[k] + F.hi[k]) + 0 * X },
    each(len(F.coords)))
  (x = x, y = y, z = F.u(...at))
}

# The data of heatmap, contour and surface for a solution or a field: over t and
# x, or over the plane at the final time.
_field_samples(name, what, label) = {
  F = _drawn_field(name, what, label)
  assert(F.size == 0,
    "{name}: {F.label} is a vector; plot draws it, and {name} its components as arrays")
  if F.time >= 0 and len(F.space) == 1 {
    (k, s) = (F.time, F.space[0])
    t = linspace(F.lo[k], F.hi[k], 101)
    x = linspace(F.lo[s], F.hi[s], 401)
    (x = t, y = x, z = map(tt -> F.u(tt, x), t), label = F.label, xlabel = F.coords[k],
      ylabel = F.coords[s])
  } else {
    assert(len(F.space) >= 2,
      "{name}: {F.label} is a function of {F.coords[0]} only; plot draws it")
    g = _sampled_plane(F, _end_of(F), if kind(F.mesh) == "none" { 121 } else { 201 })
    (...g, label = F.label, xlabel = F.coords[F.space[0]], ylabel = F.coords[F.space[1]])
  }
}
_end_of(F) = if F.time < 0 { 0.0 } else { F.hi[F.time] }

# ---- complete plots

# plot of solutions, or of a single field.
_plot_solutions(all, times, look; title = "", xlabel = "", ylabel = "", size = none, dpi = 192,
  file = "", ...options) = {
  s = all[0]
  base = _flat_panel(; ...options)
  curves = kind(s) == "record" and not has(s, "kind")
  figure = if curves {
    assert(has(s, "times") and has(s, "y"), "plot: this record is no solution")
    _figure_of(
      list((...base, layers = _plain_curves(all, look), title = title,
        xlabel = _word(xlabel, "t", ""), ylabel = ylabel)), "", 1, 1, size, dpi)
  } else {
    fields = _drawn_fields("plot", s)
    F = fields[0]
    if len(F.coords) == 1 {
      _figure_of(
        list((...base, layers = _curves_over(all, look, base.logx), title = title,
          xlabel = _word(xlabel, F.coords[0], ""), ylabel = _word(ylabel,
            if kind(s) == "function" { F.label } else { "" }, ""))), "", 1, 1, size, dpi)
    } else if len(F.space) == 1 {
      panels = list()
      for (k, f) in enumerate(fields) {
        for c in _components(f) {
          panels = list(...panels, ..._profile_panels(all, k, c, times, base))
        }
      }
      _figure_of(panels, title, len(panels) // 2, 2, size, dpi)
    } else {
      at = if F.time < 0 {
        list(0.0)
      } else if kind(times) == "none" {
        list(_end_of(F))
      } else {
        list(...times)
      }
      panels = list()
      for r in all {
        for f in _drawn_fields("plot", r) {
          for p in _plane_panels(f, at, if len(all) > 1 { ", {_made_by(r)}" } else { "" }, xlabel,
            ylabel, base) {
            panels = push(panels, p)
          }
        }
      }
      n = len(panels)
      flat = (F.hi[F.space[1]] - F.lo[F.space[1]]) / (F.hi[F.space[0]] - F.lo[F.space[0]])
      cols = if n == 1 or flat < 0.5 { 1 } else if len(at) > 2 { min(3, len(at)) } else { 2 }
      rows = (n + cols - 1) // cols
      # wide fields one below the other, with a matching height
      room = if kind(size) == "none" and flat < 0.5 and base.aspect == 0 {
        (6.4, rows * (max(5 * flat, 1.0) + 0.9))
      } else {
        size
      }
      _figure_of(if n == 1 and title != "" { list((...panels[0], title = title)) } else { panels },
        if n == 1 { "" } else { title }, rows, cols, room, dpi)
    }
  }
  _out(figure, file)
}
_figure_of(panels, title, rows, cols, size, dpi) =
  (kind = "figure", panels = panels, title = title, rows = rows, cols = cols, size = size,
    dpi = dpi)
_made_by(s) = if kind(s) == "record" and has(s, "method") { s.method } else { "" }

# ---- curves

# Of ode(): y(t), a scalar or a vector.
_plain_curves(all, look) = {
  layers = list()
  for (i, r) in enumerate(all) {
    t = linspace(r.times[0], r.times[-1], 600)
    y = map(r.y, t)
    if rank(y) == 1 {
      layers = push(layers, (kind = "line", x = t, y = y, label = "", ...look))
    } else {
      for k in each(shape(y)[1]) {
        layers = push(layers,
          (kind = "line", x = t, y = y[.., k],
            label = if len(all) > 1 { "y[{k}], {i + 1}" } else { "y[{k}]" }, ...look))
      }
    }
  }
  layers
}

# The end of a solution in one coordinate, which is before the end of the
# interval if it was stopped.
_reached_by(s, F) =
  if kind(s) == "record" { if len(s.times) > 0 { s.times[-1] } else { F.hi[0] } } else { F.hi[0] }

# One coordinate: all fields of all solutions.
_curves_over(all, look, logx) = {
  layers = list()
  for r in all {
    fields = _drawn_fields("plot", r)
    (a, b) = (fields[0].lo[0], _reached_by(r, fields[0]))
    t = if logx { logspace(log10(max(a, 1e-6 * b)), log10(b), 600) } else { linspace(a, b, 600) }
    for f in fields {
      for c in _components(f) {
        layers = push(layers,
          (kind = "line", x = t, y = map(tt -> c.u(tt), t),
            label = if len(all) > 1 { "{c.label}, {_made_by(r)}" } else { "{c.label}" }, ...look))
      }
    }
  }
  layers
}

# t and x: the first solution as a heat map, and as profiles at some times, with
# the other solutions as markers on them.
_profile_panels(all, k, F, times, base) = {
  (T, S) = (F.time, F.space[0])
  (t0, t1) = (F.lo[T], F.hi[T])
  x = linspace(F.lo[S], F.hi[S], 401)
  t = linspace(t0, t1, 101)
  by = _made_by(all[0])
  heat = (..._panel(), title = "{F.label}(t, x)" + (if by == "" { "" } else { ", {by}" }),
    xlabel = F.coords[T], ylabel = F.coords[S],
    layers = list((kind = "heat", x = t, y = x, z = map(tt -> F.u(tt, x), t), label = F.label)))
  at = if kind(times) == "none" {
    list(t0 + 0.25 * (t1 - t0), t0 + 0.5 * (t1 - t0), t1)
  } else {
    list(...times)
  }
  layers = list()
  for (j, tt) in enumerate(at) {
    layers = push(layers,
      (kind = "line", x = x, y = F.u(tt, x), label = "{F.coords[T]} = {tt:.3g}", colour = j))
  }
  marks = linspace(F.lo[S], F.hi[S], 21)
  shapes = list("circle", "square", "diamond", "up", "down", "plus", "cross")
  for (i, r) in enumerate(all) {
    if i > 0 {
      # each method's markers are between those of the previous one
      places = marks + (i - 1) * (marks[1] - marks[0]) / len(all)
      inside = where(places > F.hi[S], F.hi[S], places)
      other = _drawn_fields("plot", r)[k]
      one = if other.size == 0 { other } else { _drawn_like(other, F.label) }
      for (j, tt) in enumerate(at) {
        layers =
          push(layers, (kind = "scatter", x = inside, y = one.u(tt, inside),
            label = if j == 0 { _made_by(r) } else { "" }, colour = j, marker = shapes[i - 1]))
      }
    }
  }
  profile = (...base, layers = layers, title = if len(all) > 1 {
    "{F.label} by {by} (lines) and others (marks)"
  } else if by == "" { "profiles" } else {
    "profiles by {by}"
  }, xlabel = F.coords[S], ylabel = F.label)
  list(heat, profile)
}
_drawn_like(F, label) = {
  out = _component(F, 0)
  for c in _components(F) { if c.label == label { out = c } }
  out
}

# ---- plane fields and slices

# A panel for each time, with a common colour scale: a scalar field as a heat
# map; a vector with two components in the plane as its norm with streamlines;
# other vectors component by component. On a mesh its boundary is drawn.
_plane_panels(F, times, by, xlabel, ylabel, base) = {
  out = list()
  flow = F.size == 2 and len(F.space) == 2
  for f in (if flow { list(F) } else { _components(F) }) {
    n = if kind(f.mesh) == "none" { 121 } else { 201 }
    grids = map(t -> _sampled_plane(f, t, n), times)
    fields = map(g -> if flow { sqrt(sum(g.z^2; axis = 2)) } else { g.z }, grids)
    (low, high) = (inf, -inf)
    for z in fields {
      low = min(low, min(where(z == z, z, inf)))
      high = max(high, max(where(z == z, z, -inf)))
    }
    (wide, tall) = (f.hi[f.space[0]] - f.lo[f.space[0]], f.hi[f.space[1]] - f.lo[f.space[1]])
    for (k, g) in enumerate(grids) {
      layers = list((kind = "heat", x = g.x, y = g.y, z = fields[k], label = ""))
      if flow {
        layers = push(layers,
          (kind = "flow", x = g.x, y = g.y, z = g.z[.., .., 0], w = g.z[.., .., 1], scale = 1,
            label = "", colour = "white", width = 0))
      }
      if kind(f.mesh) != "none" and len(f.space) == 2 {
        layers =
          push(layers, _edge_layer(f.mesh, f.mesh.faces,
            (colour = "black", style = "", width = 1, marker = "", opacity = 0)))
      }
      words = if flow { "|{f.label}|" } else { f.label }
      when = if f.time < 0 { "" } else { ", {f.coords[f.time]} = {times[k]:.3g}" }
      where_ = if len(f.space) < 3 { "" } else {
        c = f.space[2]
        ", {f.coords[c]} = {0.5 * (f.lo[c] + f.hi[c]):.3g}"
      }
      out = push(out,
        (...base, layers = layers, title = words + when + where_ + by,
          xlabel = _word(xlabel, f.coords[f.space[0]], ""), ylabel = _word(ylabel,
            f.coords[f.space[1]], ""), zlim = if len(times) > 1 and low < high {
            (low, high)
          } else {
            none
          },
          aspect = if base.aspect != 0 {
            base.aspect
          } else if wide < 6 * tall and tall < 6 * wide {
            1
          } else {
            0
      }))
    }
  }
  out
}

# ---- animations

# Through time: in one space coordinate the profiles of all fields, otherwise a
# panel for each field.
_solution_film(what, count) = {
  fields = _drawn_fields("animate", what)
  F = fields[0]
  assert(F.time >= 0, "animate: {F.label} does not depend on t; plot shows it")
  (t0, t1) = (F.lo[F.time], F.hi[F.time])
  k -> {
    t = t0 + (t1 - t0) * k / max(count - 1, 1)
    if len(F.space) == 1 {
      S = F.space[0]
      x = linspace(F.lo[S], F.hi[S], 401)
      curves = list()
      for f in fields {
        for c in _components(f) {
          curves = push(curves,
            plot(x, c.u(t, x); label = if len(fields) > 1 or f.size > 0 { c.label } else { "" }))
        }
      }
      overlay(
        ...curves; title = "{F.coords[F.time]} = {t:.3g}", xlabel = F.coords[S],
        ylabel = if len(curves) > 1 { "" } else { F.label })
    } else {
      panels = list()
      for f in fields {
        for p in _plane_panels(f, list(t), "", "", "", _flat_panel()) { panels = push(panels, p) }
      }
      n = len(panels)
      _figure_of(panels, "", (n + 1) // 2, min(n, 2), none, 120)
    }
  }
}
