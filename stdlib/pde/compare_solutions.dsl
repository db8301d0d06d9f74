# compare_solutions.dsl - comparison of solutions of one problem with each
# other, with a reference, and with the problem's equations.
#
# Method: a solution is a record of functions, which are substituted into the
# problem again. Derivatives are those of the functions, so the check is
# independent of the method that made the solution.

# compare(a, b, ...; reference, tol, nt, nx): relative L2 differences of
# solutions of one problem on a common grid of points, or of each to a reference
# (a function of (t, x), or of t). Prints a table; returns (agree, differences,
# worst).
#     problem decay() {
#       domain t in [0, 1]
#       field u
#       u_t == -u
#       u == 1 at t = 0
#     }
#     r = compare(solve(decay(), bdf()), solve(decay(), adams()); tol = 1e-3);
#     r.agree                        #> true
# compare(problem, a, b, ...; reference, tol): with the problem first, a check
# of one to three solutions. Each is substituted into the equations and the
# conditions, compared with the others, and judged in words. Equations of second
# order in space and first in t, on lines and in the plane, are integrated
# against smooth test functions. This finds a flux that a jump loses, and does
# not blame elements for second derivatives that they lack. Other equations are
# evaluated at points. It also finds errors that all solutions share. Returns
# (agree, verdict, residuals, conditions, differences, worst, at, faulty). at is
# the point where the first two differ most, none for a single one; faulty lists
# the indices of the faulty solutions.
#     r = compare(decay(), solve(decay(), bdf()));
#     r.faulty                       #> []
compare(a, b, c = none, d = none; reference = none, tol = 1e-2, nt = 21, nx = 201) =
  if kind(a) == "problem" or _is_made(a) {
    _audit(a, _those(b, c, d), reference, tol)
  } else {
    all = list(a, b)
    if kind(c) != "none" { all = push(all, c) }
    if kind(d) != "none" { all = push(all, d) }
    worst = 0.0
    differences = list()
    # The common domain: events may have ended one solution a little before
    # another.
    info = a.info
    for s in all {
      info = (...info, lo = map(i -> max(info.lo[i], s.info.lo[i]), (...(0..len(info.coords)),)),
        hi = map(i -> min(info.hi[i], s.info.hi[i]), (...(0..len(info.coords)),)))
    }
    values = map(s -> _sample(s, info, nt, nx), all)
    if kind(reference) != "none" {
      exact = ravel(_sample_function(reference, info, nt, nx))
      print("relative L2 error against the reference")
      for (k, s) in enumerate(all) {
        e = norm(values[k] - exact) / norm(exact)
        print("  {s.method}  {e:.3e}")
        worst = max(worst, e)
        differences = push(differences, e)
      }
    } else {
      print("relative L2 difference")
      for (i, s) in enumerate(all) {
        for (j, r) in enumerate(all) {
          if i < j {
            e = norm(values[i] - values[j]) / max(1e-300, norm(values[j]))
            print("  {s.method} - {r.method}  {e:.3e}")
            worst = max(worst, e)
            differences = push(differences, e)
          }
        }
      }
    }
    (agree = worst <= tol, differences = differences, worst = worst)
  }

_sample(s, info, nt, nx) =
  concat(...map(f -> ravel(_sample_function(field(s, f), info, nt, nx)), (...info.fields,)))
# Returns values on the product of nt times and nx points of the space
# coordinate; with several space coordinates, of a fixed smaller number for
# each.
_sample_function(f, info, nt, nx) = {
  time = _time_of(info)
  space = (..._space_of(info),)
  if len(space) == 0 { map(s -> f(s), linspace(info.lo[0], info.hi[0], nt)) } else {
    n = if len(space) == 1 { nx } else if len(space) == 2 { 31 } else { 11 }
    total = n^len(space)
    X = map(p -> {
      i = space[p]
      at = (iota(total) // n^(len(space) - 1 - p)) % n
      linspace(info.lo[i], info.hi[i], n)[at]
    }, (...(0..len(space)),))
    if time < 0 { f(...X) } else {
      points = t -> map(i -> if i == time { t } else { X[if i > time { i - 1 } else { i }] },
        (...(0..len(info.coords)),))
      map(t -> f(...points(t)), linspace(info.lo[time], info.hi[time], nt))
    }
  }
}

# ---- substituting solutions into the problem

_those(b, c, d) =
  if kind(c) == "none" { (b,) } else { if kind(d) == "none" { (b, c) } else { (b, c, d) } }

# Returns all jets of a solution at points: t a number, the others vectors;
# vector fields are [points, m]. across: none, or (coordinate, distance), over
# which the first derivative along it is a finite difference. At a boundary the
# derivatives of elements are of lower order than their values.
_jets_by(info, s, X, across = none) = map(j -> {
  f = field(s, info.fields[j[0]])
  orders = map(i -> j[1 + i], (...(0..len(info.coords)),))
  together = 0.0 * X[len(X) - 1]
  v = if kind(across) == "none" { _inside_cells(info, s, j[0], orders)(...X) } else {
    (c, δ) = across
    if orders[c] != 1 { _inside_cells(info, s, j[0], orders)(...X) } else {
      g = _derived_by(f, map(i -> if i == c { 0 } else { orders[i] }, (...(0..len(orders)),)))
      at = k -> g(...map(i -> if i == c { X[i] + k * δ } else { X[i] }, (...(0..len(X)),)))
      (18 * at(1) - 11 * at(0) - 9 * at(2) + 2 * at(3)) / (6 * δ)
    }
  }
  if info.sizes[j[0]] == 0 { v + together } else { v + expand(together, 1) }
}, (...info.jets,))

# Returns a derivative of the k-th field. It is 0 where its order in space
# exceeds the smoothness of the solution inside cells (`smooth`).
_inside_cells(info, s, k, orders) = {
  f = field(s, info.fields[k])
  order = 0
  for i in info.space { order = order + orders[i] }
  flat = if has(s, "smooth") { order > s.smooth[k] } else { false }
  if flat { (...X) -> 0.0 * f(...X) } else { _derived_by(f, orders) }
}

# Returns the residual of one equation or condition at points, and its scale,
# the sum of the absolute values of its terms: (points), (points). A term counts
# for at least a thousandth of its size when the field changes by its own size
# over the domain. So rounding does not count as an error of a field at rest.
_left_at_points(info, q, s, X, sizes, across = none) = {
  jets = _jets_by(info, s, X, across)
  d = len(info.coords)
  together = 0.0 * X[d - 1]
  full = map(x -> x + together, X)
  usual = map(j -> {
    v = 1e-3 * sizes[j[0]]
    for i in each(d) { v = v / (info.hi[i] - info.lo[i])^j[1 + i] }
    v
  }, (...info.jets,))
  at = f -> map((...a) -> {
    v = f(map(i -> a[i], (...(0..d),)), map(i -> a[d + i], (...(0..len(info.jets)),)))
    sum(abs(v + 0.0 * v))
  }, ...full, ...jets)
  value = at((x, j) -> q.residual(x, j))
  size = 0.0 * value
  for k in each(len(info.jets)) {
    size =
      size +
      at(
        (x, js) -> jvp(y -> q.residual(x,
          map(i -> if i == k { y } else { js[i] }, (...(0..len(info.jets)),))), js[k],
          abs(js[k]) + usual[k])[1])
  }
  # Plus the terms without fields: sources, prescribed values.
  rest = at((x, js) -> q.residual(x, map(y -> 0.0 * y, js)))
  (value, size + where(abs(rest) < inf, rest, 0.0))
}

# Returns the mean of the smaller nine tenths, so that a shock or a corner is
# not counted against a solution.
_most(v) = { s = sort(v); n = len(s); mean(s[..max(1, (9 * n) // 10)]) }

_times_inside(info) = if info.time < 0 { list(0.0) } else {
  (a, b) = (info.lo[info.time], info.hi[info.time])
  map(z -> a + z * (b - a), list(0.137, 0.311, 0.523, 0.689, 0.871, 0.963))
}

# Returns the relative residual of each equation: the mean residual relative to
# the mean scale.
_equation_residuals(info, s, n, sizes) = {
  ks = _space_indices(info)
  map(q -> {
    rows = list()
    for t in _times_inside(info) {
      X = if len(ks) == 0 {
        (t + (info.hi[0] - info.lo[0]) * 0.03 * (iota(n) / f64(n) - 0.5),)
      } else {
        _with_time(info, ks, t, _points_in_box(info, ks, n))
      }
      (v, size) = _left_at_points(info, q, s, X, sizes)
      rows = push(rows, stack(v, size))
    }
    all = concat(...rows; axis = 1)
    _most(all[0]) / max(1e-300, mean(all[1]))
  }, (...info.equations,))
}

# ---- the weak form
# Test functions vanish around a part of the domain. The weak form needs no
# second derivatives of a solution, and reveals a flux that a jump loses.

# Returns the residual of each equation: in its weak form where it has one, else
# at points.
_left_over(info, s, n, sizes) = {
  P = _weak_statement(info)
  if kind(P) == "none" { _equation_residuals(info, s, n, sizes) } else {
    rule = _path_nodes(P.nodes)
    t = _times_inside(info)[0]
    X = stack(..._points_in_box(info, _space_indices(info), 5); axis = 1)
    if stop_gradient(_form_defect(P, rule, t, X)) < 1e-5 {
      _weak_residuals(P, rule, s, sizes)
    } else {
      _equation_residuals(info, s, n, sizes)
    }
  }
}
# Returns the record of weak.dsl for problems of second order in space and first
# in t, on lines and in the plane; none for others.
_weak_statement(info) = {
  nf = len(info.fields)
  d = len(info.space)
  fine = d >= 1 and d <= 2 and info.eigen == "" and len(info.equations) == nf and
    len(info.events) == 0
  nodes = 1
  for j in info.jets {
    space = 0
    for a in info.space { space = space + j[1 + a] }
    time = if info.time >= 0 { j[1 + info.time] } else { 0 }
    if space > 2 or time > 1 or (space > 0 and time > 0) { fine = false }
  }
  for (k, q) in enumerate(info.equations) {
    if k < nf { if q.rows != info.sizes[k] { fine = false } }
    for s in q.fluxes { if not _has_weak_form(s) { fine = false } }
    for i in q.nonlinear {
      space = 0
      for a in info.space { space = space + info.jets[i][1 + a] }
      if space == 2 { nodes = 4 }
    }
  }
  if not fine { none } else {
    (first, nc) = (list(), 0)
    for f in each(nf) { first = push(first, nc); nc = nc + max(1, info.sizes[f]) }
    (info = info, d = d, nf = nf, first = first, nc = nc, eqs = each(nf), name = "compare",
      nodes = nodes)
  }
}
# Returns test functions (1 - ξ²)² on parts of an interval that overlap by half,
# and their derivatives, at the midpoints of n small cells: f64[parts, n] each.
_test_functions(a, b, parts, n) = {
  h = (b - a) / (parts + 1)
  x = a + (b - a) * (iota(n) + 0.5) / n
  ξ = (expand(x, 0) - expand(a + h * (iota(parts) + 1.0), 1)) / h
  on = abs(ξ) < 1
  (x, where(on, (1 - ξ^2)^2, 0.0), where(on, -4ξ * (1 - ξ^2) / h, 0.0))
}
_weak_residuals(P, rule, s, sizes) = {
  info = P.info
  d = P.d
  (parts, n) = if d == 1 { (9, 320) } else { (3, 32) }
  sides = map(a -> _test_functions(info.lo[a], info.hi[a], parts, n), (...info.space,))
  # Points, and test functions with their derivatives: F f64[tests, points, 1 +
  # d].
  (X, F) = if d == 1 { ((sides[0][0],), stack(sides[0][1], sides[0][2]; axis = 2)) } else {
    ((x, f, fx), (y, g, gy)) = sides
    whole = (a, b) -> reshape([a[i, k] * b[j, l] for i, j, k, l], parts^2, n^2)
    ((ravel(expand(x, 1) + 0 * y), ravel(0 * expand(x, 1) + y)),
      stack(whole(f, g), whole(fx, g), whole(f, gy); axis = 2))
  }
  rows = list()
  for t in _times_inside(info) {
    at = if info.time < 0 { X } else { _with_time(info, (...info.space,), t, X) }
    together = 0.0 * X[0]
    column = (f, orders) -> {
      v = _derived_by(field(s, info.fields[f]), orders)(...at)
      if info.sizes[f] == 0 { expand(v + together, 1) } else { v + expand(together, 1) }
    }
    by = i -> map(k -> if k == i { 1 } else { 0 }, (...(0..len(info.coords)),))
    all = i -> concat(...map(f -> column(f, by(i)), each(P.nf)); axis = 1)
    z = stack(all(-1), ...map(all, list(...info.space)); axis = 2)
    v = if info.time < 0 { 0.0 * z[.., .., 0] } else { all(info.time) }
    W = map((x, z, v) -> _weak_at(P, rule, t, x, z, v, 0.0), stack(...X; axis = 1), z, v)
    big = _sizes_at(P, at, z, v, sizes)
    # Only the variation of a flux within a test counts, because a constant flux
    # has no residual.
    G = abs(F[.., .., 1..])
    Q = W[.., .., 1..]
    whole = [sum(G[k, p, a] for p) for k, a]
    middle = [sum(G[k, p, a] * Q[p, c, a] for p) / whole[k, a] for k, c, a]
    left = [sum(F[k, p, a] * W[p, c, a] for p, a) for k, c]
    size_ = [sum(F[k, p, 0] * big[p, c] for p) for k, c] +
      [sum(G[k, p, a] * (abs(Q[p, c, a] - middle[k, c, a]) + 0.1 * abs(Q[p, c, a])) for p, a) for k,
        c]
    rows = push(rows, stack(left, size_))
  }
  # Tests of all times: f64[2, tests, nc].
  all = concat(...rows; axis = 1)
  map(f -> {
    own = all[.., .., P.first[f]..P.first[f] + max(1, info.sizes[f])]
    sqrt(mean(own[0]^2)) / max(1e-300, mean(own[1]))
  }, (...(0..P.nf),))
}
# Returns the scale of the terms without second derivatives at points:
# f64[points, nc]. As in _left_at_points, a term counts for at least a
# thousandth of its usual size.
_sizes_at(P, at, z, v, sizes) = {
  info = P.info
  jets = _jets_of_values(P, z, v)
  second = map(j -> { o = 0; for a in info.space { o = o + j[1 + a] }; o == 2 }, (...info.jets,))
  usual = map(j -> {
    u = 1e-3 * sizes[j[0]]
    for i in each(len(info.coords)) { u = u / (info.hi[i] - info.lo[i])^j[1 + i] }
    u
  }, (...info.jets,))
  d = len(info.coords)
  together = 0.0 * z[.., 0, 0]
  full = map(x -> x + together, at)
  concat(...map(f -> {
    q = info.equations[f]
    one = (...a) -> {
      x = map(i -> a[i], (...(0..d),))
      js = map(i -> a[d + i], (...(0..len(info.jets)),))
      rest = ravel(0.0 + q.residual(x, map(y -> 0.0 * y, js)))
      total = where(abs(rest) < inf, abs(rest), 0.0)
      for k in each(len(info.jets)) {
        if not second[k] {
          total = total +
            abs(
              ravel(0.0 +
                jvp(y -> q.residual(x,
                  map(i -> if i == k { y } else { js[i] }, (...(0..len(info.jets)),))), js[k],
                  abs(js[k]) + usual[k])[1]))
        }
      }
      where(abs(total) < inf, total, 0.0)
    }
    map(one, ...full, ...jets)
  }, each(P.nf)); axis = 1)
}
# Returns all jets from values, derivatives and rates at points, with zero
# second derivatives.
_jets_of_values(P, z, v) = {
  zero = zeros(P.nc, P.d, P.d)
  map(j -> map((z, v) -> _fem_jet(P, j, z, v, zero, 0.0), z, v), (...P.info.jets,))
}

# Returns the relative residual of each condition on a face, at a point, or at
# the initial time.
_condition_residuals(info, s, n, scales) = {
  ks = _space_indices(info)
  # The distance of the values of a mesh: one vertex further, or two where
  # vertices need not be aligned.
  apart = if has(s, "mesh") {
    M = s.mesh
    len(ks) * max(norm(M.points[M.cells[.., 0]] - M.points[M.cells[.., 1]]; axis = 1))
  } else { 0.0 }
  out = list()
  for c in info.conditions {
    if c.at.coord >= 0 {
      worst = 0.0
      start = c.at.coord == info.time
      at_time = if c.at.side == 1 { info.hi } else { info.lo }
      for t in (if start { list(at_time[info.time]) } else { _times_inside(info) }) {
        X = if len(ks) == 0 { (c.at.value + zeros(1),) } else {
          P = _points_in_box(info, ks, n)
          W = _with_time(info, ks, t, P)
          map(i -> if i == c.at.coord and not start { 0.0 * P[0] + c.at.value } else { W[i] },
            (...(0..len(info.coords)),))
        }
        k = info.jets[c.jets[0]][0]
        left = across -> {
          (v, size) = _left_at_points(info, c, s, X, scales, across);
          _most(v) / max(mean(size), scales[k])
        }
        slopes = 0
        for i in c.jets { slopes = max(slopes, info.jets[i][1 + c.at.coord]) }
        own = left(none)
        worst = max(worst, if start or slopes == 0 or len(ks) == 0 { own } else {
          # A smooth solution by its derivatives, one of elements by differences
          # of values.
          least = (info.hi[c.at.coord] - info.lo[c.at.coord]) / 80
          # Whole cells, because elements are more accurate at vertices than
          # elsewhere.
          far = if apart > 0 { apart * ceil(least / apart - 1e-6) } else { least }
          min(own, left((c.at.coord, (1 - 2 * c.at.side) * far)))
        })
      }
      out = push(out, worst)
    } else if kind(c.at.point) != "none" {
      worst = 0.0
      place = (...c.at.point,)
      for t in _times_inside(info) {
        X = if len(place) == len(info.coords) { map(x -> f64(x) + zeros(1), place) } else {
          _with_time(info, ks, t, map(x -> f64(x) + zeros(1), place))
        }
        (v, size) = _left_at_points(info, c, s, X, scales)
        worst = max(worst, v[0] / max(size[0], scales[info.jets[c.jets[0]][0]]))
      }
      out = push(out, worst)
    } else { out = push(out, 0.0) }
  }
  out
}

# Returns the mean absolute value of each field of a solution.
_field_sizes(info, s) = map(f -> {
  total = 0.0
  for t in _times_inside(info) {
    v = _at_time(info, field(s, f), t);
    total = max(total, mean(abs(v)))
  }
  max(total, 1e-300)
}, (...info.fields,))
_at_time(info, f, t) = {
  ks = _space_indices(info)
  if len(ks) == 0 {
    f(t + zeros(1))
  } else {
    f(..._with_time(info, ks, t, _points_in_box(info, ks, 150)))
  }
}

# Checks each solution by itself and against the others.
_audit(problem, all, reference, tol) = {
  info = _problem_info(problem)
  if kind(info.region) != "none" {
    _refuse(
      "compare() puts solutions into problems on intervals and boxes; for other regions leave the "
      "problem out: compare(a, b)")
  }
  n = if len(info.space) < 2 { 61 } else { 120 }
  names = (...info.fields,)
  exact = if kind(reference) != "none" {
    (reference,)
  } else {
    if _is_made(problem) { (problem.exact,) } else { () }
  }
  sizes = map(s -> _field_sizes(info, s), all)
  residuals = map(k -> stack(..._left_over(info, all[k], n, sizes[k])), (...(0..len(all)),))
  conditions =
    map(k -> {
      v = _condition_residuals(info, all[k], n, sizes[k]);
      if len(v) > 0 { stack(...v) } else { zeros(1) }
    },
      (...(0..len(all)),))
  parts =
    s ->
    concat(
      ...map(t ->
        concat(...map(k -> ravel(_at_time(info, field(s, names[k]), t)) / max(sizes[0][k], 1e-300),
          (...(0..len(names)),))), _times_inside(info)))
  values = map(s -> parts(s), (...all, ...exact))
  count = len(all)
  pairs = list()
  for i in each(len(values)) {
    for j in each(len(values)) {
      if i < j and (len(exact) == 0 or j == count) { pairs = push(pairs, (i, j)) }
    }
  }
  differences = map(p -> norm(values[p[0]] - values[p[1]]) / max(1e-300, norm(values[p[1]])), pairs)
  worst = 0.0
  for e in differences { worst = max(worst, e) }
  words = list()
  faulty = list()
  limit = tol
  for (k, s) in enumerate(all) {
    r = max(residuals[k])
    c = max(conditions[k])
    bad = not (r <= limit and c <= max(tol, 1e-3))
    print("  {s.method}: residual {r:.2e}, conditions {c:.2e}")
    words = push(words, if not (r <= limit) {
      ("{s.method} does not satisfy {_text(info.equations, argmax(residuals[k]))}: what is left "
        "over is {r:.2g} of its parts")
    } else {
      if not (c <= max(tol, 1e-3)) { _say_condition(info, s, argmax(conditions[k]), c) } else { "" }
    })
    faulty = push(faulty, bad)
  }
  for (k, p) in enumerate(pairs) {
    other = if p[1] < count { all[p[1]].method } else { "exact" }
    print("  {all[p[0]].method} - {other}: relative difference {differences[k]:.2e}")
  }
  # A difference is blamed on the solution farther from the exact one, or with
  # the larger residual.
  score = map(k -> max(residuals[k]) + max(conditions[k]), (...(0..count),))
  apart = map(k -> {
    blamed = false
    for (e, p) in enumerate(pairs) {
      if differences[e] > tol or not (differences[e] < inf) {
        if p[0] == k and p[1] >= count { blamed = true }
        if p[1] < count and (p[0] == k or p[1] == k) {
          o = if p[0] == k { p[1] } else { p[0] }
          if score[k] >= score[o] { blamed = true }
        }
      }
    }
    blamed
  }, (...(0..count),))
  flags = stack(...map(k -> faulty[k] or apart[k], (...(0..count),)))
  text = ""
  for (k, s) in enumerate(all) {
    if faulty[k] { text = text + (if text == "" { "" } else { "; " }) + words[k] } else {
      if apart[k] {
        text = text + (if text == "" { "" } else { "; " }) +
          "{s.method} is off by more than {tol:.2g}, and leaves the most over"
      }
    }
  }
  verdict = if text == "" {
    "no fault found: equations, conditions and differences within tolerances"
  } else {
    text
  }
  print(verdict)
  at = if len(pairs) > 0 {
    _where(info, all[0], (...all, ...exact)[pairs[0][1]], sizes[0])
  } else {
    none
  }
  (agree = not any(flags), verdict = verdict, residuals = residuals, conditions = conditions,
    differences = differences, worst = worst, at = at,
    faulty = findall(flags))
}
# Returns all coordinates of the point of comparison where two solutions differ
# most.
_where(info, f, g, sizes) = {
  ks = _space_indices(info)
  best = -1.0
  at = zeros(len(info.coords))
  for t in _times_inside(info) {
    X = if len(ks) == 0 {
      (t + zeros(1),)
    } else {
      _with_time(info, ks, t, _points_in_box(info, ks, 150))
    }
    for (k, name) in enumerate(info.fields) {
      v = abs(field(f, name)(...X) - field(g, name)(...X)) / sizes[k]
      w = if rank(v) == 2 { max(v; axis = 1) } else { v }
      i = argmax(w)
      together = 0.0 * X[len(X) - 1]
      here = stack(...map(x -> (x + together)[i], X))
      at = where(w[i] > best, here, at)
      best = max(best, w[i])
    }
  }
  at
}
_say_condition(info, s, i, c) =
  "{s.method} does not keep {_text(info.conditions, i)}: off by {c:.2g}"
_text(rows, i) = {
  text = ""
  for (k, q) in enumerate(rows) { if k == i { text = q.text } }
  text
}
