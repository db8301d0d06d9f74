# work_precision.dsl - diagrams and table of docs/reference/work_precision.md.
#
# The data are docs/images/work_precision/work_precision.csv.
# scripts/bench/work_precision.sh runs this program.

table = load("docs/images/work_precision/work_precision.csv")
problems = list("robertson", "hires", "pollution", "pleiades", "lorenz", "brusselator")
titles = list("Robertson to t = 1e5", "HIRES, 8 unknowns", "POLLU, 20 unknowns",
  "Pleiades, 28 unknowns", "Lorenz to t = 10", "Brusselator on a line, 1000 unknowns")

# The curves of the table. The rows from .. from + count have one problem and
# method.
curves = list()
for k in list(...(0..len(table.problem))) {
  name = table.side[k] + " " + table.method[k]
  n = len(curves)
  curves = if n > 0 and
    (if n > 0 {
      curves[-1].problem == table.problem[k] and curves[-1].name == name
    } else {
      false
    }) {
      last = curves[-1]
      push(curves[..n - 1], (...last, count = last.count + 1))
    } else {
      push(curves,
        (problem = table.problem[k], side = table.side[k], name = name, from = k, count = 1))
    }
}
times_of(c) = table.ms[c.from..c.from + c.count]
errors_of(c) = table.error[c.from..c.from + c.count]

# The minimum time in which a method reaches the error e. Between neighbouring
# results log(time) is linear in log(error).
time_for(times, errors, e) = {
  best = min(where(errors <= e, times, inf))
  for k in 1..len(times) {
    (a, b) = (log(errors[k-1]), log(errors[k]))
    if a > log(e) and b <= log(e) {
      f = (a - log(e)) / (a - b)
      best = min(best, exp((1 - f) * log(times[k-1]) + f * log(times[k])))
    }
  }
  best
}

print("| problem | rtol 1e-4 | 1e-5 | 1e-6 | 1e-7 | 1e-8 | 1e-9 | 1e-10 | 1e-11 | 1e-12 |")
print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
for (i, problem) in enumerate(problems) {
  layers = list()
  own = none
  colours = list("blue", "green", "purple", "orange", "brown", "sky")
  used = 0
  for c in curves {
    if c.problem == problem {
      style = if c.side == "Atled" {
        "solid"
      } else {
        if c.side == "C" { "dashed" } else { "dotted" }
      }
      ours = c.name == "Atled default"
      label = if c.side == "C" { c.name[2..] + " (C)" } else { c.name }
      layers = push(layers,
        loglog(errors_of(c), times_of(c), label = label, style = style, marker = if ours {
          "circle"
        } else {
          if c.side == "Atled" {
            "square"
          } else {
            if c.side == "C" { "diamond" } else { if c.side == "SciPy" { "up" } else { "plus" } }
          }
        },
          colour = if ours {
            "red"
          } else {
            if c.side == "C" { "black" } else { colours[used % 6] }
          }, width = if ours { 3 } else { 1.5 }))
      if not ours and c.side != "C" { used = used + 1 }
      if ours { own = c }
    }
  }
  overlay(layers, title = titles[i], xlabel = "largest relative error at the end",
    ylabel = "processor time, ms", xlim = (none, none), grid = true, legend = "outside",
    size = (8, 5), file = "docs/images/work_precision/{problem}.png")
  if kind(own) != "none" {
    t = times_of(own)
    e = errors_of(own)
    cells = list()
    for k in list(...(0..own.count)) {
      least = inf
      for c in curves {
        if c.problem == problem and c.name != own.name {
          least = min(least, time_for(times_of(c), errors_of(c), e[k]))
        }
      }
      cells = push(cells, if least < inf { "{t[k] / least:.2f}" } else { "alone" })
    }
    print("| {titles[i]} | " + join(cells, " | ") + " |")
  }
}
