# plot.dsl - plots: curves, markers, fields, surfaces, vectors, histograms,
# panels and animations, in the terminal and as PNG, SVG and PDF files.
#
# Contract:
# - Each function returns a plot, which is a value. The terminal shows a plot
#   that is a result; `file = "name.png"`, ".svg" or ".pdf" writes it instead.
# - `overlay` combines plots in one panel, `subplots` in several.
#   docs/methods/plots.md shows every kind.
#
# A plot is a record with kind "figure", whose panels are records with layers.
# repl/core/plot_bridge.c describes them.

# ---- Curves

# plot(x, y, y2, y3, ...; label, labels, colour, style, width, marker, opacity,
# title, xlabel, ylabel, file, ...): curves y(x).
#   x and y are real vectors of the same extent; a matrix y gives one curve for
#   each column. plot(y): over 0, 1, 2 ... plot(f, (a, b)): a function on an
#   interval.
#   plot(s1, s2, ...; times): solutions of one problem, or of `ode`. In one
#   coordinate it shows curves; in t and x a heat map of the first solution and
#   profiles at `times`; in the plane heat maps, with t at `times` (by default
#   the end), for vectors their norm and streamlines; in space the plane through
#   the middle. plot(s.u): one field of a solution. plot(m): a mesh in the
#   plane. NaN and infinite values leave gaps.
#   labels: a list of strings for the legend; label: the string of a single
#   curve. Strings may contain Greek letters, x^2, 10^-6, u_xx and x^(n+1).
#   colour: "blue", "red", "green", "purple", "orange", "sky", "grey", "brown",
#   "black", "#rrggbb", or the index of one of the first eight. style: "solid",
#   "dashed", "dotted", "dashdot", "none". marker: "circle", "square",
#   "diamond", "up", "down", "plus", "cross", "auto". width: of lines, in 1/96
#   inch. opacity: 0 to 1.
#   Options of every plot: title, xlabel, ylabel; xlim, ylim: pairs (from, to),
#   which may be reversed, or have none on one side; logx, logy; legend: "auto"
#   (where it covers no data), "none", "top left", "top right", "bottom left",
#   "bottom right", "outside"; grid; aspect: 1 for equal units; xticks, yticks:
#   positions, and xnames, ynames: their strings; size: (width, height) in
#   inches; dpi: of PNG files; file: ends in .png, .svg or .pdf.
#     x = linspace(0.0, 10, 200)
#     plot(x, sin(x), cos(x), labels = list("sin", "cos"), xlabel = "x");
#     plot(x -> x^2, (-1, 1), title = "y = x^2");
plot(a, b = none, c = none, d = none, e = none, f = none, g = none; label = "", labels = list(),
  times = none, colour = none, style = "", width = 0, marker = "", opacity = 0, n = 500,
  logx = false, ...options) = {
  look = (colour = colour, style = style, width = width, marker = marker, opacity = opacity)
  if kind(a) == "record" and has(a, "cells") and has(a, "faces") {
    _plot_mesh(a, look; ...options)
  } else if kind(a) == "record" or (kind(a) == "function" and kind(b) == "none") {
    _plot_solutions(_given(list(a, b, c, d, e, f, g)), times, look; logx = logx, ...options)
  } else {
    layers = if kind(a) == "function" {
      _function_curves(list(a, b, c, d, e, f, g), label, labels, look, n, logx)
    } else {
      _curves("plot", _given(list(a, b, c, d, e, f, g)), label, labels, look)
    }
    _picture(layers; logx = logx, ...options)
  }
}

# loglog(x, y, ...): plot with both axes logarithmic.
#   Values that are not positive are omitted, and the plot reports their number.
#   Options are those of plot.
#     h = 0.5^iota(8)
#     loglog(h, h^2, 0.1*h^4, marker = "auto", labels = list("second order", "fourth order"), xlabel = "h", ylabel = "error");
loglog(x, y, y2 = none, y3 = none, y4 = none, y5 = none; ...options) =
  plot(x, y, y2, y3, y4, y5; logx = true, logy = true, ...options)

# semilogy(x, y, ...): plot with a logarithmic y axis
#     semilogy(iota(20), exp(-0.5*iota(20)), xlabel = "iteration", ylabel = "residual");
semilogy(x, y = none, y2 = none, y3 = none, y4 = none, y5 = none; ...options) =
  plot(x, y, y2, y3, y4, y5; logy = true, ...options)

# semilogx(x, y, ...): plot with a logarithmic x axis
#     f = logspace(-1, 3, 200)
#     semilogx(f, 1/(1 + (f/10)^2), xlabel = "frequency / Hz", ylabel = "gain");
semilogx(x, y = none, y2 = none, y3 = none, y4 = none, y5 = none; ...options) =
  plot(x, y, y2, y3, y4, y5; logx = true, ...options)

# scatter(x, y; values, label, colour, marker, width, opacity, map, ...):
# scatter plot: a marker at each point.
#   values: a vector shown by the colours of the markers, with a colour bar.
#   map: "viridis", "inferno", "diverging", "cyclic", "grey". Further options
#   are those of every plot (see plot).
#     x = linspace(0.0, 6, 60)
#     scatter(x, sin(x), values = cos(x), xlabel = "x", map = "diverging");
scatter(x, y; values = none, label = "", colour = none, marker = "", width = 0, opacity = 0,
  ...options) = {
  _same_length("scatter", x, y, "x", "y")
  if kind(values) != "none" { _same_length("scatter", x, values, "x", "values") }
  layer = (kind = "scatter", x = f64(x), y = f64(y), c = _f64(values), label = label,
    colour = colour, marker = marker, width = width, opacity = opacity)
  _coloured(list(layer); ...options)
}

# errorbars(x, y, e; xerr, label, colour, marker, ...): points with error bars.
#   e: a vector, for errors in both directions, or a pair (below, above) of
#   vectors. xerr: the same along x. Further options are those of every plot
#   (see plot).
#     x = linspace(1.0, 5, 9)
#     errorbars(x, sqrt(x), 0.1 + 0*x, label = "measured");
errorbars(x, y, e = none; xerr = none, label = "", colour = none, marker = "circle", width = 0,
  ...options) = {
  _same_length("errorbars", x, y, "x", "y")
  _check_two_sided("e", e, y)
  _check_two_sided("xerr", xerr, x)
  (a, b) = _two_sided(e, y)
  (c, d) = _two_sided(xerr, x)
  _picture(
    list((kind = "errors", x = f64(x), y = f64(y), a = a, b = b, c = c, d = d, label = label,
      colour = colour, marker = marker, width = width)); ...options)
}

# fill_between(x, low, high; label, colour, opacity, ...): the area between two
# curves.
#   high may be a scalar. Further options are those of every plot (see plot).
#     x = linspace(0.0, 6, 100)
#     overlay(fill_between(x, sin(x) - 0.2, sin(x) + 0.2), plot(x, sin(x)));
fill_between(x, low, high = 0; label = "", colour = none, opacity = 0.3, ...options) = {
  _same_length("fill_between", x, low, "x", "low")
  top = if rank(high) == 0 { 0 * f64(x) + high } else { f64(high) }
  _same_length("fill_between", x, top, "x", "high")
  _picture(list((kind = "band", x = f64(x), y = f64(low), a = top, label = label, colour = colour,
    opacity = opacity));
    ...options)
}

# stairs(x, y; at, ...): a step function.
#   at: where y changes to the value of a sample: "post" (constant until the
#   next sample; the default), "pre" (constant since the previous one) or "mid".
#   Further options are those of plot for one curve.
#     stairs(iota(6), [0, 1, 1, 2, 3, 5], xlabel = "n");
stairs(x, y; at = "post", label = "", colour = none, style = "", width = 0, marker = "",
  opacity = 0, ...options) = {
  _same_length("stairs", x, y, "x", "y")
  assert(at == "post" or at == "pre" or at == "mid", "stairs: at is \"post\", \"pre\" or \"mid\"")
  u = f64(x)
  v = f64(y)
  # two samples for each: the start and the end of its level
  middle = 0.5 * (u[1..] + u[..-1])
  from = if at == "post" {
    u
  } else {
    if at == "pre" { concat(u[0..1], u[..-1]) } else { concat(u[0..1], middle) }
  }
  to = if at == "post" {
    concat(u[1..], u[-1..])
  } else {
    if at == "pre" { u } else { concat(middle, u[-1..]) }
  }
  _picture(
    list((kind = "line", x = ravel(stack(from, to; axis = 1)), y = ravel(stack(v, v; axis = 1)),
      label = label, colour = colour, style = style, width = width, marker = marker,
      opacity = opacity)); ...options)
}

# stem(x, y; base, ...): a stem plot: a thin line from the base to a marker for
# each sample of a discrete signal
#     n = iota(30)
#     stem(n, exp(-0.1*n)*cos(0.6*n), xlabel = "n");
stem(x, y; base = 0.0, label = "", colour = none, marker = "circle", width = 0, ...options) = {
  _same_length("stem", x, y, "x", "y")
  _picture(
    list((kind = "stems", x = f64(x), y = f64(y), base = base, label = label, colour = colour,
      marker = marker, width = width));
    ...options)
}

# bar(x, y; labels, stacked, horizontal, width, ...): bars of heights y at x.
#   x: a vector, or a list of strings, one for each bar. y: a vector, or a
#   matrix with one column for each of several groups, side by side or
#   `stacked`. width: the total width of the bars at one place, relative to the
#   distance of the places. Further options are those of every plot (see plot).
#     bar(list("a", "b", "c"), [3, 5, 2], ylabel = "count");
#     bar([1, 2, 3], [1, 2; 3, 1; 2, 2], labels = list("old", "new"));
bar(x, y; label = "", labels = list(), stacked = false, horizontal = false, width = 0.8,
  colour = none, opacity = 0, xticks = none, yticks = none, xnames = none, ynames = none,
  ...options) = {
  named = kind(x) == "list" or kind(x) == "tuple"
  at = if named { f64(iota(len(x))) } else { f64(x) }
  _same_length("bar", at, y, "x", "y")
  table = if rank(y) == 1 { reshape(f64(y), len(y), 1) } else { f64(y) }
  groups = shape(table)[1]
  gap = if len(at) > 1 { min(abs(diff(at))) } else { 1.0 }
  layers = list()
  for k in each(groups) {
    one = if stacked { width * gap } else { width * gap / groups }
    place = if stacked { at } else { at + (k - 0.5 * (groups - 1)) * one }
    base = if stacked { sum(table[.., 0..k]; axis = 1) } else { 0 * at }
    top = base + table[.., k]
    text = if k < len(labels) { labels[k] } else { if k == 0 { label } else { "" } }
    layers =
      push(layers, (kind = "bars", x = if horizontal { top } else { place },
        y = if horizontal {
          place
        } else {
          top
        }, a = base, b = 0 * at + one, sideways = horizontal, label = text, colour = colour,
        opacity = opacity))
  }
  _picture(layers; xticks = if named and not horizontal { at } else { xticks },
    yticks = if named and
    horizontal { at } else { yticks },
    xnames = if named and not horizontal {
      x
    } else {
      xnames
    }, ynames = if named and horizontal { x } else { ynames }, ...options)
}

# hist(x; bins, range, density, ...): histogram of the values in intervals of
# equal width.
#   bins: the number of bins, or 0 for an automatic number (Freedman and
#   Diaconis 1981, at least that of Sturges 1926). range: (from, to). density:
#   bars whose areas sum to 1. NaN and infinite values are omitted. Further
#   options are those of every plot (see plot).
#     seed(1)
#     hist(randn(2000), xlabel = "x", density = true);
hist(x; bins = 0, range = none, density = false, label = "", colour = none, opacity = 0,
  ylabel = "", ...options) = {
  assert(kind(x) == "array", "hist: the values are an array")
  every = f64(ravel(x))
  finite = every[isfinite(every)]
  assert(len(finite) > 0, "hist: there are no finite values")
  assert(bins >= 0, "hist: bins is a number of intervals, 0 for a suitable one")
  (lo, hi) = if kind(range) == "none" {
    _hist_range(min(finite), max(finite))
  } else {
    (f64(range[0]), f64(range[1]))
  }
  assert(lo < hi, "hist: range is a pair (from, to) with from < to")
  inside = finite[(finite >= lo) and (finite <= hi)]
  number = if bins > 0 { bins } else { _hist_bins(inside, lo, hi) }
  step = (hi - lo) / number
  counts = zeros(number)
  counts[min(i64(floor((inside - lo) / step)), number - 1)] += 1.0
  heights = if density { counts / (max(sum(counts), 1.0) * step) } else { counts }
  at = lo + step * (f64(iota(number)) + 0.5)
  _picture(
    list((kind = "bars", x = at, y = heights, a = 0 * at, b = 0 * at + step, label = label,
      colour = colour, opacity = opacity));
    ylabel = if ylabel == "" {
      if density { "density" } else { "count" }
    } else {
      ylabel
    }, ...options)
}
_hist_range(lo, hi) = if lo < hi { (lo, hi) } else { (lo - 0.5, hi + 0.5) }
_hist_bins(x, lo, hi) = {
  n = max(len(x), 1)
  sturges = i64(ceil(log2(f64(n)))) + 1
  v = sort(x)
  spread = if len(x) > 3 { v[(3 * n) // 4] - v[n // 4] } else { 0.0 }
  by_spread = if spread > 0 {
    min(ceil((hi - lo) / (2 * spread / cbrt(f64(n)))), 200.0)
  } else {
    1.0
  }
  max(sturges, i64(by_spread))
}

# ---- Lines, areas and annotations

# hline(y; label, colour, style, width): horizontal lines across the plot, at
# one or several heights.
#   For use in overlay. See also vline(x), hspan(y0, y1) and vspan(x0, x1).
#     x = linspace(0.0, 6, 100)
#     overlay(plot(x, sin(x)), hline([-1.0, 1.0], style = "dashed"), vspan(2, 3));
hline(y; label = "", colour = "grey", style = "", width = 0, opacity = 0) =
  _bare((kind = "rules", y = _vector(y), label = label, colour = colour, style = style,
    width = width, opacity = opacity))

# vline(x; label, colour, style, width): vertical lines across the plot, at one
# or several positions
#     overlay(plot(sin, (0, 6)), vline(3.14159, label = "π"));
vline(x; label = "", colour = "grey", style = "", width = 0, opacity = 0) =
  _bare((kind = "rules", x = _vector(x), label = label, colour = colour, style = style,
    width = width, opacity = opacity))

# hspan(y0, y1; label, colour, opacity): the horizontal band between two heights
#     overlay(plot(sin, (0, 6)), hspan(-0.5, 0.5, label = "tolerance"));
hspan(y0, y1; label = "", colour = "grey", opacity = 0.16) =
  _bare((kind = "rules", y = _vector(y0), a = _vector(y1), label = label, colour = colour,
    opacity = opacity))

# vspan(x0, x1; label, colour, opacity): the vertical band between two positions
#     overlay(plot(sin, (0, 6)), vspan(2, 3, label = "burst"));
vspan(x0, x1; label = "", colour = "grey", opacity = 0.16) =
  _bare((kind = "rules", x = _vector(x0), a = _vector(x1), label = label, colour = colour,
    opacity = opacity))

# annotate(text, x, y; to, align, colour, size): text at a point of the plot.
#   to: a point (x, y) for an arrow. align: "centre", "left" (the text ends at
#   the point) or "right" (it begins there). size: of the text, in 1/96 inch.
#     overlay(plot(sin, (0, 6)), annotate("maximum", 3.0, 0.6, to = (1.571, 1.0)));
annotate(text, x, y; to = none, align = "centre", colour = "black", size = 0) = {
  anchor = if align == "left" { 1 } else { if align == "right" { -1 } else { 0 } }
  assert(align == "left" or align == "right" or align == "centre",
    "annotate: align is \"centre\", \"left\" or \"right\"")
  _bare((kind = "text", text = text, x = _vector(x), y = _vector(y),
    a = if kind(to) == "none" {
      none
    } else {
      _vector(to[0])
    }, b = if kind(to) == "none" {
      none
    } else {
      _vector(to[1])
    }, anchor = anchor, colour = colour, width = size))
}

# polygon(x, y; label, colour, opacity, ...): a plot of the area inside a closed
# polygon.
#   polygon(P; holes, names): the region of the plane inside a polygon with
#   corners P f64[n, 2], without the polygons in the list holes. names: of the
#   sides, side k from corner k to the next; by default all sides are "outline".
#   The sides of holes are "hole".
#     polygon([0.0, 1, 0.5], [0.0, 0, 1], aspect = 1);
#     inside(polygon([0, 0; 2, 0; 2, 1; 1, 1; 1, 2; 0, 2]), [1.5, 1.5])    #> false
polygon(x, y = none; holes = list(), names = none, label = "", colour = none, opacity = 0.5,
  ...options) = if kind(y) == "none" {
  _polygon_region(x, holes, names)
} else {
  _same_length("polygon", x, y, "x", "y")
  _picture(list((kind = "polygon", x = f64(x), y = f64(y), label = label, colour = colour,
    opacity = opacity)); ...options)
}

# ---- Fields

# heatmap(x, y, z; map, cells, zlabel, zlim, logz, ...): a field z(x, y) by
# colour, with a colour bar.
#   x f64[m] and y f64[n] are ascending or descending; z is f64[m, n] with z[i,
#   j] at (x[i], y[j]), or a function of (x, y). heatmap(z): over 0, 1, 2 ...
#   heatmap(s), heatmap(s, "u"), heatmap(s.u): a field of a solution over t and
#   x, or over the plane at the final time.
#   map: "viridis", "inferno", "diverging" (white at 0; the default when both
#   signs occur), "cyclic" (angles), "grey". cells: each value as a flat cell
#   instead of smooth interpolation. zlabel, zlim, logz: of the colour scale.
#   Further options are those of every plot (see plot). NaN is grey.
#     x = linspace(-2.0, 2, 80)
#     heatmap(x, x, (x, y) -> exp(-x^2 - y^2), xlabel = "x", ylabel = "y");
heatmap(x, y = none, z = none; cells = false, zlabel = "", xlabel = "", ylabel = "", ...options) = {
  data = _field_data("heatmap", x, y, z)
  layer = (kind = "heat", x = data.x, y = data.y, z = data.z, cells = cells, label = "")
  _coloured(list(layer); zlabel = _word(zlabel, data.label, ""),
    xlabel = _word(xlabel, data.xlabel, ""), ylabel = _word(ylabel, data.ylabel, ""), ...options)
}

# image(A; map, ...): a matrix in its written layout: row 0 at the top, each
# element a square cell
#     image([1.0, 2, 3; 4, 5, 6]);
image(A; aspect = 1, ...options) = {
  assert(kind(A) == "array" and rank(A) == 2, "image: the picture is of a matrix")
  layer = (kind = "heat", z = transpose(f64(A)), cells = true, label = "")
  _coloured(list(layer); ylim = (shape(A)[0] - 0.5, -0.5), aspect = aspect, ...options)
}

# contour(x, y, z; levels, numbers, colour, map, ...): contour lines of z,
# labelled with their values.
#   x, y, z: as for heatmap. levels: a vector of values, or their approximate
#   number. numbers: label the lines. colour: of all lines; by default they are
#   coloured by z. Further options are those of every plot (see plot). Marching
#   squares; saddles are resolved by the mean of the corners.
#     x = linspace(-2.0, 2, 60)
#     contour(x, x, (x, y) -> x^2 - y^2, aspect = 1);
contour(x, y = none, z = none; levels = 0, numbers = true, label = "", colour = none, style = "",
  width = 0, ...options) = {
  data = _field_data("contour", x, y, z)
  given = rank(levels) == 1
  layer = (kind = "contours", x = data.x, y = data.y, z = data.z,
    levels = if given {
      sort(f64(levels))
    } else {
      none
    }, scale = if given {
      0
    } else {
      levels
    }, labelled = numbers, label = label, colour = colour, style = style, width = width)
  _coloured(list(layer); ...options)
}

# contourf(x, y, z; levels, map, ...): filled contours, with a colour bar.
#   x, y, z and levels: as for contour. Further options are those of every plot
#   (see plot).
#     x = linspace(-2.0, 2, 60)
#     contourf(x, x, (x, y) -> sin(2x) * cos(2y));
contourf(x, y = none, z = none; levels = 0, opacity = 0, ...options) = {
  data = _field_data("contourf", x, y, z)
  given = rank(levels) == 1
  layer = (kind = "contours", x = data.x, y = data.y, z = data.z,
    levels = if given {
      sort(f64(levels))
    } else {
      none
    }, scale = if given { 0 } else { levels }, filled = true, opacity = opacity, label = "")
  _coloured(list(layer); ...options)
}

# ---- Vectors

# quiver(x, y, u, v; scale, colour, width, ...): arrows (u, v).
#   x, y, u, v are vectors of the same extent: arrows that start at points; or x
#   f64[m], y f64[n] and u, v f64[m, n] or functions of (x, y): arrows centred
#   on a grid, thinned if they are too many. The longest arrow is about as long
#   as their distance. scale sets how many units of (u, v) are 1/96 inch.
#     x = linspace(-2.0, 2, 15)
#     quiver(x, x, (x, y) -> -y, (x, y) -> x, aspect = 1);
quiver(x, y, u, v; scale = 0, label = "", colour = none, width = 0, ...options) = {
  on_grid = kind(u) == "function" or rank(u) == 2
  layer = if on_grid {
    _vectors("quiver", x, y, u, v, "arrows", scale, label, colour, width)
  } else {
    _same_length("quiver", x, y, "x", "y")
    _same_length("quiver", x, u, "x", "u")
    _same_length("quiver", x, v, "x", "v")
    (kind = "arrows", x = f64(x), y = f64(y), a = f64(u), b = f64(v), scale = scale, label = label,
      colour = colour, width = width)
  }
  _picture(list(layer); ...options)
}

# streamlines(x, y, u, v; density, colour, width, ...): evenly spaced
# streamlines of the vector field (u, v).
#   x f64[m], y f64[n]; u, v f64[m, n] or functions of (x, y). density: 2 for
#   twice as many lines along each axis.
#     x = linspace(-2.0, 2, 40)
#     streamlines(x, x, (x, y) -> y, (x, y) -> -sin(2x), xlabel = "θ");
streamlines(x, y, u, v; density = 1, label = "", colour = "blue", width = 0, ...options) =
  _picture(list(_vectors("streamlines", x, y, u, v, "flow", density, label, colour, width));
    ...options)

_vectors(name, x, y, u, v, what, scale, label, colour, width) = {
  a = if kind(u) == "function" { _sampled(u, x, y) } else { f64(u) }
  b = if kind(v) == "function" { _sampled(v, x, y) } else { f64(v) }
  _check_grid(name, x, y, a, "u")
  _check_grid(name, x, y, b, "v")
  (kind = what, x = f64(x), y = f64(y), z = a, w = b, scale = scale, label = label, colour = colour,
    width = width)
}

# ---- Three dimensions

# surface(x, y, z; view, mesh, map, zlabel, zlim, ...): a field z(x, y) as a
# surface in perspective.
#   x, y, z: as for heatmap. view: (azimuth, elevation) of the viewpoint in
#   degrees. mesh: lines on the surface. colour: a single colour instead of
#   colours by height.
#     x = linspace(-3.0, 3, 50)
#     surface(x, x, (x, y) -> exp(-x^2 - y^2) * x, xlabel = "x", ylabel = "y", zlabel = "z");
surface(x, y = none, z = none; view = (-50, 28), mesh = true, label = "", colour = none,
  opacity = 0, zlabel = "", xlabel = "", ylabel = "", ...options) = {
  data = _field_data("surface", x, y, z)
  layer = (kind = "surface", x = data.x, y = data.y, z = data.z, mesh = mesh, label = label,
    colour = colour, opacity = opacity)
  _in_space(list(layer), view; zlabel = _word(zlabel, data.label, ""),
    xlabel = _word(xlabel, data.xlabel, ""), ylabel = _word(ylabel, data.ylabel, ""), ...options)
}

# plot3(x, y, z; view, label, colour, style, width, marker, ...): a curve in
# three dimensions
#     t = linspace(0.0, 20, 400)
#     plot3(cos(t), sin(t), t, xlabel = "x", ylabel = "y", zlabel = "t");
plot3(x, y, z; view = (-50, 28), label = "", colour = none, style = "", width = 0, marker = "",
  opacity = 0, ...options) = {
  _same_length("plot3", x, y, "x", "y")
  _same_length("plot3", x, z, "x", "z")
  _in_space(
    list((kind = "line3", x = f64(x), y = f64(y), a = f64(z), label = label, colour = colour,
      style = style, width = width, marker = marker, opacity = opacity)), view; ...options)
}

# scatter3(x, y, z; view, label, colour, marker, width, ...): points in three
# dimensions
#     seed(2)
#     scatter3(randn(200), randn(200), randn(200));
scatter3(x, y, z; view = (-50, 28), label = "", colour = none, width = 0, marker = "", opacity = 0,
  ...options) = {
  _same_length("scatter3", x, y, "x", "y")
  _same_length("scatter3", x, z, "x", "z")
  _in_space(
    list((kind = "scatter3", x = f64(x), y = f64(y), a = f64(z), label = label, colour = colour,
      width = width, marker = marker, opacity = opacity)), view; ...options)
}

# ---- Combining plots

# overlay(p, q, ...; title, xlabel, ...): several plots in one panel.
#   Up to twelve plots of one panel each, or a list of them. Titles, labels,
#   limits and scales are those of the first plot that has them, unless given
#   here. Two- and three-dimensional plots cannot be combined.
#     x = linspace(0.0, 6, 50)
#     overlay(plot(x, sin(x), label = "sin"), scatter(x[.. by 5], sin(x[.. by 5]), label = "samples"), hline(0), title = "both");
overlay(p1, p2 = none, p3 = none, p4 = none, p5 = none, p6 = none, p7 = none, p8 = none, p9 = none,
  p10 = none, p11 = none, p12 = none; size = none, dpi = 0, file = "", ...options) = {
  all = if kind(p1) == "list" or kind(p1) == "tuple" {
    p1
  } else {
    _given(list(p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12))
  }
  # later plots first, so that settings of earlier ones prevail
  panel = _panel()
  layers = list()
  width = none
  sharp = 0
  for p in all {
    assert(_is_figure(p), "overlay: every part is a picture, as plot and the like give it")
    assert(len(p.panels) == 1, "overlay: every part is a picture of one panel")
    q = p.panels[0]
    layers = list(...layers, ...q.layers)
    panel = _merged(panel, q)
    if kind(width) == "none" { width = p.size }
    if sharp == 0 { sharp = p.dpi }
  }
  own = _panel(; ...options)
  _out((kind = "figure", panels = list((..._merged(own, panel), layers = layers)), title = "",
    rows = 1, cols = 1, size = if kind(size) == "none" {
      width
    } else {
      size
    }, dpi = if dpi == 0 { sharp } else { dpi }), file)
}

# right_axis(p; mark): the plot p with a second y axis on the right, for use in
# overlay.
#   p is any two-dimensional plot of one panel. Its y settings (ylabel, ylim,
#   logy, yticks, ynames) apply to the right axis; x is shared. In overlay the
#   same settings are y2label, y2lim, logy2, y2ticks and y2names. One legend
#   holds the labels of both; those of the right axis get a mark "(right)"
#   unless mark = false. Colours continue the sequence.
#     t = linspace(0.0, 24, 100)
#     T = 15 + 8*sin(t/4)
#     overlay(plot(t, T, label = "temperature", ylabel = "T / °C", xlabel = "t / h"), right_axis(plot(t, exp(T/5), label = "growth", ylabel = "1/h", logy = true)));
right_axis(p; mark = true) = {
  assert(_is_figure(p), "right_axis: that is no picture")
  assert(len(p.panels) == 1, "right_axis: the picture has one panel")
  q = p.panels[0]
  layers = list()
  for l in q.layers {
    assert(l.kind != "heat" and l.kind != "surface" and l.kind != "line3" and l.kind != "scatter3",
      "right_axis: pictures of fields by colour, and those in space, have no second axis")
    label = if has(l, "label") { l.label } else { "" }
    layers = push(layers,
      (...l, right = true, label = if mark and label != "" { "{label} (right)" } else { label }))
  }
  (...p,
    panels = list((...q, layers = layers, y2label = q.ylabel, y2lim = q.ylim, logy2 = q.logy,
      y2ticks = q.yticks, y2names = q.ynames, ylabel = "", ylim = none, logy = false, yticks = none,
      ynames = none)))
}

# subplots(p, q, ...; cols, title, size, dpi, file): plots side by side, row by
# row.
#   Up to sixteen plots of any kinds, or a list of them. cols: panels in a row.
#   title: over all of them. Plots in a row or column have aligned axes.
#     x = linspace(0.0, 6, 50)
#     subplots(plot(x, sin(x)), plot(x, cos(x)), hist(sin(x)), stem(x, cos(x)), cols = 2, title = "four views");
subplots(p1, p2 = none, p3 = none, p4 = none, p5 = none, p6 = none, p7 = none, p8 = none, p9 = none,
  p10 = none, p11 = none, p12 = none, p13 = none, p14 = none, p15 = none, p16 = none;
  cols = 0, title = "", size = none, dpi = 192, file = "") = {
  all = if kind(p1) == "list" or kind(p1) == "tuple" {
    p1
  } else {
    _given(list(p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16))
  }
  panels = list()
  for p in all {
    assert(_is_figure(p), "subplots: every part is a picture, as plot and the like give it")
    panels = list(...panels, ...p.panels)
  }
  n = len(panels)
  across = if cols > 0 { cols } else { if n <= 3 { n } else { if n == 4 { 2 } else { 3 } } }
  _out((kind = "figure", panels = panels, title = title, rows = (n + across - 1) // across,
    cols = across, size = size, dpi = dpi), file)
}

# show(p; file, size, dpi): draws a plot immediately, for use in functions and
# loops, or writes it to a file.
#   Without a file it draws in the terminal; file ends in .png, .svg or .pdf.
#     p = plot([1, 3, 2])
#     for k in 0..2 { show(p) }
show(p; file = "", size = none, dpi = 0) = {
  assert(_is_figure(p), "show: that is no picture")
  _picture_draw((...p, size = if kind(size) == "none" { p.size } else { size },
    dpi = if dpi == 0 { p.dpi } else { dpi }), file)
  none
}

# animate(frames, n; file, fps, dpi): an animation of plots.
#   frames: a function from k = 0, 1 ... n - 1 to a plot, or a list of plots. It
#   may also be a solution with t, or a field of one, at n times (60 by
#   default): profiles in x, or the plane as drawn by plot. file, which may take
#   the place of n: ends in .gif, or in .png or .apng for an animated PNG, which
#   is smaller and sharper. fps: frames per second.
#   Axes without limits cover all frames; a function is therefore called twice
#   for each frame. One frame is in memory at a time. The file appears when the
#   last frame is done.
#     x = linspace(0.0, 6.3, 100)
#     animate(k -> plot(x, sin(x - 0.3k), title = "t = {0.3k:.1f}"), 20, file = "wave.gif")
animate(frames, n = 0; file = "", fps = 15, dpi = 120) = {
  # animate(s, "film.png")
  (file, n) = if kind(n) == "string" { (n, 0) } else { (file, n) }
  assert(file != "", "animate: the film needs a file, whose name ends in .gif, .png or .apng")
  whole = kind(frames) == "record" or accepts(frames, 0)
  count = if whole {
    if n > 0 { n } else { 60 }
  } else if kind(frames) == "function" {
    n
  } else {
    len(frames)
  }
  assert(count > 0, "animate: how many frames? animate(k -> picture, n; file)")
  shots = if whole { _solution_film(frames, count) } else { frames }
  _picture_film(shots, count, file, fps, dpi)
  none
}

# ---- Implementation

_given(items) = {
  out = list()
  for i in items { if kind(i) != "none" { out = push(out, i) } }
  out
}
_f64(x) = if kind(x) == "none" { none } else { f64(x) }
_vector(x) = if rank(x) == 0 { reshape(f64(x), 1) } else { f64(x) }
_is_figure(p) = if kind(p) == "record" {
  if has(p, "kind") {
    if kind(p.kind) == "string" { p.kind == "figure" } else { false }
  } else {
    false
  }
} else {
  false
}

_same_length(name, x, y, xname, yname) = {
  assert(kind(y) != "string",
    "{name}: what a curve looks like is given by name: colour = \"red\", style = \"dashed\"")
  assert(kind(x) == "array" and kind(y) == "array", "{name}: {xname} and {yname} are arrays")
  assert(rank(x) == 1 and rank(y) >= 1, "{name}: {xname} and {yname} are vectors")
  assert(len(x) == len(y), "{name}: {xname} has {len(x)} samples and {yname} has {len(y)}")
}
_check_two_sided(name, e, like) = {
  if kind(e) == "tuple" or kind(e) == "list" {
    assert(len(e) == 2, "errorbars: {name} is a vector, or a pair (below, above) of vectors")
    _same_length("errorbars", like, e[0], "the data", name)
    _same_length("errorbars", like, e[1], "the data", name)
  } else {
    if kind(e) == "array" {
      if rank(e) > 0 { _same_length("errorbars", like, e, "the data", name) }
    }
  }
}
_two_sided(e, like) = if kind(e) == "none" { (none, none) } else {
  if kind(e) == "tuple" or kind(e) == "list" {
    (f64(e[0]), f64(e[1]))
  } else {
    if rank(e) == 0 { (0 * f64(like) + e, 0 * f64(like) + e) } else { (f64(e), f64(e)) }
  }
}

# The options of a panel.
_panel(; title = "", xlabel = "", ylabel = "", zlabel = "", xlim = none, ylim = none, zlim = none,
  logx = false, logy = false, logz = false, legend = "auto", grid = false, aspect = 0, view = none,
  map = "auto", xticks = none, yticks = none, xnames = none, ynames = none, y2label = "",
  y2lim = none, logy2 = false, y2ticks = none, y2names = none) =
  (layers = list(), title = title, xlabel = xlabel, ylabel = ylabel, zlabel = zlabel, xlim = xlim,
    ylim = ylim, zlim = zlim, logx = logx, logy = logy, logz = logz, legend = legend, grid = grid,
    aspect = aspect, view = view, map = map, xticks = xticks, yticks = yticks, xnames = xnames,
    ynames = ynames, y2label = y2label, y2lim = y2lim, logy2 = logy2, y2ticks = y2ticks,
    y2names = y2names)
# The options of two-dimensional plots; all of these support each option.
_flat_panel(; title = "", xlabel = "", ylabel = "", xlim = none, ylim = none, logx = false,
  logy = false, legend = "auto", grid = false, aspect = 0, xticks = none, yticks = none,
  xnames = none, ynames = none) =
  _panel(; title = title, xlabel = xlabel, ylabel = ylabel, xlim = xlim, ylim = ylim, logx = logx,
    logy = logy, legend = legend, grid = grid, aspect = aspect, xticks = xticks, yticks = yticks,
    xnames = xnames, ynames = ynames)
_merged(a, b) =
  (layers = a.layers, title = _word(a.title, b.title, ""), xlabel = _word(a.xlabel, b.xlabel, ""),
    ylabel = _word(a.ylabel, b.ylabel, ""), zlabel = _word(a.zlabel, b.zlabel, ""),
    xlim = _given_or(a.xlim, b.xlim), ylim = _given_or(a.ylim, b.ylim),
    zlim = _given_or(a.zlim, b.zlim), logx = a.logx or b.logx, logy = a.logy or b.logy,
    logz = a.logz or b.logz, legend = _word(a.legend, b.legend, "auto"), grid = a.grid or
    b.grid, aspect = if a.aspect == 0 {
      b.aspect
    } else {
      a.aspect
    }, view = _given_or(a.view, b.view), map = _word(a.map, b.map, "auto"),
    xticks = _given_or(a.xticks, b.xticks), yticks = _given_or(a.yticks, b.yticks),
    xnames = _given_or(a.xnames, b.xnames), ynames = _given_or(a.ynames, b.ynames),
    y2label = _word(a.y2label, b.y2label, ""), y2lim = _given_or(a.y2lim, b.y2lim),
    logy2 = a.logy2 or b.logy2, y2ticks = _given_or(a.y2ticks, b.y2ticks),
    y2names = _given_or(a.y2names, b.y2names))
_given_or(a, b) = if kind(a) == "none" { b } else { a }
_word(a, b, unset) = if a == unset { b } else { a }

_out(figure, file) =
  if file == "" { _picture_check(figure); figure } else { _picture_draw(figure, file); none }
_figure(panel, size, dpi, file) =
  _out((kind = "figure", panels = list(panel), title = "", rows = 1, cols = 1, size = size,
    dpi = dpi), file)
_bare(layer) = _figure((..._panel(), layers = list(layer)), none, 192, "")
_picture(layers; size = none, dpi = 192, file = "", ...options) =
  _figure((..._flat_panel(; ...options), layers = layers), size, dpi, file)
_coloured(layers; map = "auto", zlabel = "", zlim = none, logz = false, size = none, dpi = 192,
  file = "", ...options) =
  _figure((..._flat_panel(; ...options), layers = layers, map = map, zlabel = zlabel, zlim = zlim,
    logz = logz), size, dpi, file)
_in_space(layers, view; map = "auto", zlabel = "", zlim = none, title = "", xlabel = "",
  ylabel = "", xlim = none, ylim = none, legend = "auto", size = none, dpi = 192, file = "") =
  _figure((..._panel(; title = title, xlabel = xlabel, ylabel = ylabel, xlim = xlim, ylim = ylim,
    legend = legend, map = map, zlabel = zlabel, zlim = zlim, view = view), layers = layers), size,
    dpi, file)

_curves(name, given, label, labels, look) = {
  assert(kind(given[0]) == "array",
    "{name}: an array of samples, a function with an interval, or a solution is drawn")
  assert(rank(given[0]) > 0, "{name}: one number is no curve; an array of samples is wanted")
  over = if len(given) == 1 { f64(iota(len(given[0]))) } else { f64(given[0]) }
  layers = list()
  for (k, y) in enumerate(given) {
    if k > 0 or len(given) == 1 {
      _same_length(name, over, y, "x", if k > 1 { "y{k}" } else { "y" })
      assert(rank(y) <= 2, "{name}: y is a vector, or a matrix with a curve in each column")
      if rank(y) == 1 {
        layers =
          push(layers, (kind = "line", x = over, y = f64(y),
            label = _label_of(len(layers), label, labels), ...look))
      } else {
        for j in each(shape(y)[1]) {
          layers =
            push(layers, (kind = "line", x = over, y = f64(y)[.., j],
              label = _label_of(len(layers), label, labels), ...look))
        }
      }
    }
  }
  layers
}
_label_of(k, label, labels) =
  if k < len(labels) { labels[k] } else { if k == 0 { label } else { "" } }

_function_curves(items, label, labels, look, n, logx) = {
  given = _given(items)
  span = given[-1]
  if kind(span) == "array" {
    assert(rank(span) > 0,
      "plot: a function is drawn on an interval, which is one pair: plot(f, (a, b))")
  }
  assert(len(given) >= 2 and kind(span) != "function",
    "plot: a function is drawn on an interval: plot(f, (a, b))")
  assert(len(span) == 2, "plot: an interval is a pair (a, b)")
  (a, b) = (f64(span[0]), f64(span[1]))
  x = if logx { logspace(log10(a), log10(b), n) } else { linspace(a, b, n) }
  layers = list()
  for (k, f) in enumerate(given) {
    if k < len(given) - 1 {
      layers = push(layers,
        (kind = "line", x = x, y = f64(map(f, x)), label = _label_of(k, label, labels), ...look))
    }
  }
  layers
}

_sampled(f, x, y) = map(a -> map(b -> f(a, b), f64(y)), f64(x))
_check_grid(name, x, y, z, zname) = {
  assert(kind(z) == "array", "{name}: {zname} is a matrix or a function of (x, y)")
  assert(rank(z) == 2, "{name}: {zname} is a matrix with a row for each x and a column for each y")
  assert(shape(z)[0] == len(x) and shape(z)[1] == len(y),
    "{name}: {zname} is {shape(z)[0]} by {shape(z)[1]}, but x has {len(x)} samples and y has "
    "{len(y)}")
}
_field_data(name, x, y, z) = if kind(x) == "function" or kind(x) == "record" {
  _field_samples(name, x, if kind(y) == "string" { y } else { "" })
} else {
  bare = kind(y) == "none"
  (a, b) = if bare { (f64(iota(shape(x)[0])), f64(iota(shape(x)[1]))) } else { (f64(x), f64(y)) }
  values = if bare {
    f64(x)
  } else {
    if kind(z) == "function" { _sampled(z, a, b) } else { f64(z) }
  }
  _check_grid(name, a, b, values, "z")
  (x = a, y = b, z = values, label = "", xlabel = "", ylabel = "")
}
