# plot.dsl - pictures: curves, solutions, heat maps; to PNG and SVG files by their ending, else in the terminal.

# plot(x, y, y2, y3, ...; file, title, xlabel, ylabel, labels, logx, logy): curves y(x), each f64[n];
# plot(s1, s2, ...; times, file, ...): solutions of one problem. In t and x: profiles at `times`, and a heat map of the first; in t only: curves.
#     x = linspace(0, 2π, 100)
#     plot(x, sin(x), cos(x); labels = ("sin", "cos"), title = "two curves")
plot(a, b = none, c = none, d = none; file = "", title = "", xlabel = "", ylabel = "", labels = list(), times = none, logx = false, logy = false) = {
  if kind(a) == "record" { _plot_solutions(_given(list(a, b, c, d)), file, title, times) } else {
    curves = _given(list(b, c, d))
    series = list()
    if len(curves) == 0 { series = list((kind = "line", x = f64(iota(len(a))), y = f64(a), label = "")) } else {
      for (k, y) in enumerate(curves) {
        series = push(series, (kind = "line", x = f64(a), y = f64(y), label = if k < len(labels) { labels[k] } else { "" }))
      }
    }
    _draw((panels = list((title = title, xlabel = xlabel, ylabel = ylabel, logx = logx, logy = logy, series = series)), title = "", rows = 1, cols = 1, file = file))
    none
  }
}

# loglog(x, y, ...): plot with both axes logarithmic
#     x = logspace(0, 3, 50)
#     loglog(x, x^2)
loglog(x, y, y2 = none, y3 = none; file = "", title = "", xlabel = "", ylabel = "", labels = list()) =
  plot(x, y, y2, y3; file = file, title = title, xlabel = xlabel, ylabel = ylabel, labels = labels, logx = true, logy = true)

# heatmap(x, y, z; file, ...): a field z f64[len(x), len(y)] by colour
#     x = linspace(-1, 1, 20)
#     heatmap(x, x, outer(x, x))
heatmap(x, y, z; file = "", title = "", xlabel = "x", ylabel = "y") = {
  _draw((panels = list((title = title, xlabel = xlabel, ylabel = ylabel, series = list((kind = "heat", x = f64(x), y = f64(y), z = f64(z), label = "")))), title = "", rows = 1, cols = 1, file = file))
  none
}

_given(items) = {
  out = list()
  for i in items { if kind(i) != "none" { out = push(out, i) } }
  out
}

_plot_solutions(all, file, title, times) = {
  s = all[0]
  if s.kind == "ode" {
    t = linspace(s.info.lo[0], s.times[-1], 600)
    series = list()
    for r in all {
      for f in r.info.fields {
        y = map(tt -> field(r, f)(tt), t)
        if rank(y) == 1 { series = push(series, (kind = "line", x = t, y = y, label = if len(all) > 1 { "{f}, {r.method}" } else { "{f}" })) } else {
          for k in list(...(0..shape(y)[1])) { series = push(series, (kind = "line", x = t, y = y[.., k], label = "{f}[{k}]")) }
        }
      }
    }
    _draw((panels = list((title = title, xlabel = s.info.coords[0], ylabel = "", series = series)), title = "", rows = 1, cols = 1, file = file))
  } else {
    (t0, t1) = (s.info.lo[0], s.info.hi[0])
    x = linspace(s.info.lo[1], s.info.hi[1], 401)
    panels = list()
    for f in s.info.fields {
      tm = linspace(t0, t1, 101)
      z = map(tt -> field(s, f)(tt, x), tm)
      panels = push(panels, (title = "{f}(t, x), {s.method}", xlabel = s.info.coords[0], ylabel = s.info.coords[1], series = list((kind = "heat", x = tm, y = x, z = z, label = f))))
      at = if kind(times) == "none" { list(t0 + 0.25 * (t1 - t0), t0 + 0.5 * (t1 - t0), t1) } else { list(...times) }
      # the first solution as lines, one colour a time; the others as marks on them
      series = list()
      for (k, tt) in enumerate(at) {
        series = push(series, (kind = "line", x = x, y = field(s, f)(tt, x), label = "{s.info.coords[0]} = {tt:.3g}", colour = k))
      }
      marks = linspace(s.info.lo[1], s.info.hi[1], 21)
      for (i, r) in enumerate(all) {
        if i > 0 {
          # each method's marks between those of the one before
          places = marks + (i - 1) * (marks[1] - marks[0]) / len(all)
          inside = where(places > s.info.hi[1], s.info.hi[1], places)
          for (k, tt) in enumerate(at) {
            series = push(series, (kind = "scatter", x = inside, y = field(r, f)(tt, inside), label = if k == 0 { r.method } else { "" }, colour = k, marker = i))
          }
        }
      }
      panels = push(panels, (title = if len(all) > 1 { "{f} by {s.method} (lines) and others (marks)" } else { "profiles by {s.method}" }, xlabel = s.info.coords[1], ylabel = f, series = series))
    }
    _draw((panels = panels, title = title, rows = len(s.info.fields), cols = 2, file = file))
  }
  none
}
