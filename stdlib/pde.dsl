# pde.dsl - from a problem to its solution: grids, derivative operators, the method of lines.
#
# A problem gives, for each equation, a function on jet space (the fields and their derivatives at a point). A method feeds it arrays of
# derivatives made by its own operators; the partial derivatives of that function times those operators are the exact Jacobian.

# solve(problem, method; t, rtol, atol, saveat, partial, guess): the solution as a record with one function per field, of (t, x) or of t.
# Without a method, a sensible one is chosen; explain(problem) says which and why. guess, of a boundary value problem: a record of numbers or functions for the fields, or a solution. solve(A, b) with a matrix is linsolve(A, b).
#     problem decay(k) {
#       domain t in [0, 1]
#       field u
#       u_t == -k*u
#       u == 1 at t = 0
#     }
#     s = solve(decay(2.0); rtol = 1e-9, atol = 1e-11);
#     s.u(1.0)                       #~ exp(-2) tol 1e-6
#     solve([2.0, 0; 0, 4], [2.0, 8])   #> [1, 2]
solve(problem, method = none; t = none, rtol = 1e-6, atol = 1e-8, saveat = [], progress = true, partial = false, guess = none,
  count = none) =
  {
    if kind(problem) == "array" or kind(problem) == "sparse" { linsolve(problem, method) } else {
      info = _problem_info(problem)
      m = if kind(method) == "none" { _choose(info) } else { method }
      if kind(guess) != "none" and not has(m, "between") {
        _refuse("{m.name}() does not begin with a guess; collocation() and shooting() do")
      }
      if partial and len(info.coords) != 1 { _refuse("partial = true is for problems in t only") }
      m.solve(info, m, (t = t, rtol = rtol, atol = atol, saveat = saveat, progress = progress, partial = partial, guess = guess,
        count = count))
    }
  }

_choose(info) = if len(info.coords) == 1 {
  if _is_between(info) { collocation() } else { auto() }
} else {
  if info.periodic[1] { fourier() } else { fd(n = 401, order = 4) }
}

# explain(problem): what solve would choose and why, as text. explain(checkpoint(f; ...), x, ...): the loops of f that keep snapshots, and what that costs:
# bytes, and how often a turn is run before it is differentiated (the recompute factor), and why a loop keeps tapes instead. It runs f to count turns, and f' must exist there.
# explain(sparsity(f, x)): how many products a sparse derivative takes, and of what kind.
#     print(explain(sparsity(u -> u[1..] - u[..-1], zeros(100))))
#     #> 99 by 100, 198 elements: 2 products with the derivative
explain(subject, x = none, y = none, z = none) = if kind(subject) == "function" {
  args = if kind(x) == "none" {
    ()
  } else {
    if kind(y) == "none" { (x,) } else { if kind(z) == "none" { (x, y) } else { (x, y, z) } }
  }
  _explain_loops(_checkpoints(subject, ...args))
} else { if kind(subject) == "record" { _explain_pattern(subject) } else { _explain_problem(subject) } }

_explain_problem(problem) = {
  info = _problem_info(problem)
  if len(info.coords) == 1 and _is_between(info) {
    "{info.name}: conditions at both ends of {info.coords[0]}, so solve() takes collocation(): piecewise cubics on a mesh that is fitted to the solution; collocation(6) and collocation(8) need fewer nodes for tight tolerances, shooting() integrates from guessed values."
  } else if len(info.coords) == 1 {
    "{info.name}: {len(info.fields)} unknown(s) in {info.coords[0]} only. solve() takes auto(): DOP853 where the problem is not stiff, Rodas5P with the exact Jacobian where it is (CVODE's BDF for more than 32 unknowns); bdf() where algebraic equations are among them."
  } else {
    if info.periodic[1] {
      "{info.name}: periodic in {info.coords[1]}, so solve() takes fourier(n = 128): smooth periodic solutions converge exponentially."
    } else {
      "{info.name}: solve() takes fd(n = 401, order = 4): finite differences in {info.coords[1]}, BDF in t with the exact sparse Jacobian. chebyshev(n) converges faster for smooth solutions, pinn() trains a network on the same statement."
    }
  }
}

# fd(n, order; cluster): finite differences on n points, order 2, 4 or 6; cluster = (x0, w): points drawn together around x0 over a width w
#     problem heat() {
#       domain t in [0, 0.1], x in [0, 1]
#       field u
#       u_t == u_xx
#       u == sin(π*x) at t = 0
#       u == 0 at x = 0, x = 1
#     }
#     solve(heat(), fd(51, 4)).u(0.1, 0.5)   #~ exp(-0.1π^2) tol 1e-4
fd(n = 401, order = 4; cluster = none, max_steps = 0) =
  (name = "fd", n = n, order = order, cluster = cluster, time = bdf(max_steps = max_steps), grid = _fd_grid, solve = _solve_lines)
# chebyshev(n; cluster): collocation in n + 1 Chebyshev-Lobatto points; cluster as for fd
#     problem heat() {
#       domain t in [0, 0.1], x in [0, 1]
#       field u
#       u_t == u_xx
#       u == sin(π*x) at t = 0
#       u == 0 at x = 0, x = 1
#     }
#     solve(heat(), chebyshev(16); rtol = 1e-8, atol = 1e-10).u(0.1, 0.5)   #~ exp(-0.1π^2) tol 1e-6
chebyshev(n = 64; cluster = none, max_steps = 0) =
  (name = "chebyshev", n = n, order = 0, cluster = cluster, time = bdf(max_steps = max_steps), grid = _chebyshev_grid,
    solve = _solve_lines)
# fourier(n): collocation in n equally spaced points of a period, n even
#     problem wave() {
#       domain t in [0, 1], x in [0, 2π] periodic
#       field u
#       u_t == -u_x
#       u == sin(x) at t = 0
#     }
#     solve(wave(), fourier(16); rtol = 1e-8, atol = 1e-10).u(1.0, 2.0)   #~ sin(1) tol 1e-6
fourier(n = 128; max_steps = 0) =
  (name = "fourier", n = n, order = 0, cluster = none, time = bdf(max_steps = max_steps), grid = _fourier_grid,
    solve = _solve_lines)

# ---- grids: nodes, and for each derivative order the weights of the nodes it uses

# Weights of derivatives 0..m at z of the polynomial through the columns of X, for every row at once: z f64[n], X f64[n, w]; gives a list of
# m + 1 arrays f64[n, w]. B. Fornberg, Generation of finite difference formulas on arbitrarily spaced grids, Math. Comp. 51 (1988).
_fornberg(z, X, w, m) = {
  zero = 0 * z
  C = map(i -> map(k -> zero, list(...(0..(m + 1)))), list(...(0..w)))
  C[0] = map(k -> if k == 0 { zero + 1 } else { zero }, list(...(0..(m + 1))))
  c1 = zero + 1
  c4 = X[.., 0] - z
  for i in list(...(1..w)) {
    c2 = zero + 1
    c5 = c4
    c4 = X[.., i] - z
    for j in list(...(0..i)) {
      c3 = X[.., i] - X[.., j]
      c2 = c2 * c3
      if j == i - 1 {
        old = C[j]
        row = C[i]
        for k in list(...(0..(m + 1))) {
          row[k] = if k == 0 { -c1 * c5 * old[0] / c2 } else { c1 * (k * old[k - 1] - c5 * old[k]) / c2 }
        }
        C[i] = row
      }
      old = C[j]
      row = C[j]
      for k in list(...(0..(m + 1))) {
        row[k] = if k == 0 { c4 * old[0] / c3 } else { (c4 * old[k] - k * old[k - 1]) / c3 }
      }
      C[j] = row
    }
    c1 = c2
  }
  map(k -> stack(...map(i -> C[i][k], list(...(0..w))); axis = 1), list(...(0..(m + 1))))
}

# Points of [a, b] from s in [-1, 1]: evenly, or drawn together around x0 over a width w by a tan map (Bayliss and Turkel 1992).
_place(s, a, b, cluster) = if kind(cluster) == "none" { 0.5 * (a + b) + 0.5 * (b - a) * s } else {
  (x0, w) = cluster
  lo = atan((a - x0) / w)
  hi = atan((b - x0) / w)
  x0 + w * tan(0.5 * (lo + hi) + 0.5 * (hi - lo) * s)
}

_fd_grid(m, a, b, periodic, top) = {
  n = m.n
  w = 2 * ((top + 1) // 2) - 1 + m.order
  if periodic {
    h = (b - a) / n
    x = a + h * iota(n)
    offset = iota(w) - w // 2
    W = _fornberg([0.0], expand(f64(offset), 0), w, top)
    idx = (expand(iota(n), 1) + expand(offset, 0)) % n
    (x = x, idx = idx, width = w, D = map(k -> broadcast_to(W[k] / h^k, n, w), list(...(0..(top + 1)))), dense = false, a = a,
      b = b, order = m.order, cluster = none)
  } else {
    x = _place(linspace(-1, 1, n), a, b, m.cluster)
    start = clamp(iota(n) - w // 2, 0, n - w)
    idx = expand(start, 1) + expand(iota(w), 0)
    (x = x, idx = idx, width = w, D = _fornberg(x, x[idx], w, top), dense = false, a = a, b = b, order = m.order,
      cluster = m.cluster)
  }
}

# Chebyshev-Lobatto differentiation (Trefethen, Spectral Methods in MATLAB, chapter 6), with the mapping's slope, ascending in x.
_chebyshev_grid(m, a, b, periodic, top) = {
  if periodic { _refuse("chebyshev() does not serve periodic problems; fourier(n) does") }
  n = m.n
  k = iota(n + 1)
  s = sin(π * (2 * k - n) / (2.0 * n))
  x = _place(s, a, b, m.cluster)
  slope = jvp(r -> _place(r, a, b, m.cluster), s, ones_like(s))[1]
  c = where((k == 0) or (k == n), 2.0, 1.0) * where(k % 2 == 0, 1.0, -1.0)
  ds = expand(s, 1) - expand(s, 0)
  off = where(expand(k, 1) == expand(k, 0), 0.0, (expand(c, 1) / expand(c, 0)) / (ds + eye(n + 1)))
  D1 = (off - diag(sum(off; axis = 1))) / expand(slope, 1)
  (x = x, s = s, D = _powers(D1, top), dense = true, a = a, b = b, order = 0, cluster = m.cluster, family = "chebyshev")
}

_powers(D1, top) = {
  out = list(eye(len(D1)), D1)
  for k in list(...(2..(top + 1))) { out = push(out, D1 @ out[k - 1]) }
  out
}

# Fourier differentiation matrices for an even number of points (Trefethen, chapter 3).
_fourier_grid(m, a, b, periodic, top) = {
  if not periodic { _refuse("fourier() is for periodic problems") }
  n = m.n
  if n % 2 != 0 { _refuse("fourier(n) takes an even number of points") }
  h = 2π / n
  k = expand(iota(n), 1) - expand(iota(n), 0)
  sign = where(k % 2 == 0, 1.0, -1.0)
  half = 0.5 * h * k
  same = k == 0
  safe = where(same, 1.0, half)
  scale = 2π / (b - a)
  D1 = where(same, 0.0, 0.5 * sign / tan(safe)) * scale
  D2 = where(same, -(π^2) / (3 * h^2) - 1 / 6.0, -0.5 * sign / sin(safe)^2) * scale^2
  out = list(eye(n), D1, D2)
  for j in list(...(3..(top + 1))) { out = push(out, D2 @ out[j - 2]) }
  (x = a + (b - a) * iota(n) / f64(n), D = out, dense = true, a = a, b = b, order = 0, cluster = none, family = "fourier")
}

# The k-th derivative of nodal values.
_apply(g, k, u) = if k == 0 { u } else { if g.dense { g.D[k] @ u } else { sum(g.D[k] * u[g.idx]; axis = 1) } }

# ---- conditions at the ends: linear in the jets, so that the value at an end follows from the values inside

_is_time(c) = c.at.coord == 0

# The conditions of a field at an end (0 left, 1 right), as a list.
_end_conditions(info, field, side) = {
  out = list()
  for c in info.conditions {
    if c.at.coord == 1 and c.at.side == side and info.jets[c.jets[0]][0] == field { out = push(out, c) }
  }
  out
}

# A condition at (t, x) as coefficients of the jets of a field by order in x, and the constant: sum_k coef[k] d^k u + rest = 0.
_linear_condition(info, c, t, x, field, top) = {
  zero = map(j -> 0.0, list(...info.jets))
  rest = c.residual((t, x), zero)
  coef =
    map(k -> c.residual((t, x), map(j -> if j[0] == field and j[1] == 0 and j[2] == k { 1.0 } else { 0.0 }, list(...info.jets))) -
      rest, list(...(0..(top + 1))))
  (coef, rest)
}

# The weights of derivative k at an end in terms of all values a row uses there.
_end_row(g, k, side) = if g.dense { g.D[k][if side == 0 { 0 } else { -1 }] } else { g.D[k][if side == 0 { 0 } else { -1 }] }
_end_values(g, u, side) = if g.dense { u } else { u[g.idx[if side == 0 { 0 } else { -1 }]] }

# A condition at an end as total @ (values its row uses) + rest = 0.
_end_equation(info, g, c, t, field, side, top) = {
  (coef, rest) = _linear_condition(info, c, t, if side == 0 { g.a } else { g.b }, field, top)
  total = coef[0] * _end_row(g, 0, side)
  for k in list(...(1..(top + 1))) { total = total + coef[k] * _end_row(g, k, side) }
  (total, rest)
}

# The condition at each end that has one, as a list of two (an empty list where there is none); t enters their constants.
_end_equations(info, g, ends, t, field, top) =
  map(side -> if len(ends[side]) == 1 { _end_equation(info, g, ends[side][0], t, field, side, top) } else { list() }, list(0, 1))

# What an equation of one end says about the value at the other: only dense operators reach that far.
_cross(g, total, other) = if g.dense { total[other] } else { 0.0 }

# u with its ends set so that the conditions hold; what stands there on entry is ignored.
_set_ends(g, q, u) = {
  v = u
  if len(q[0]) == 2 { v[0] = 0.0 }
  if len(q[1]) == 2 { v[-1] = 0.0 }
  r = map(side -> if len(q[side]) == 2 { q[side][1] + q[side][0] @ _end_values(g, v, side) } else { 0.0 }, list(0, 1))
  if len(q[0]) == 2 and len(q[1]) == 2 {
    (a, b) = (q[0][0][0], _cross(g, q[0][0], -1))
    (c, d) = (_cross(g, q[1][0], 0), q[1][0][-1])
    v[0] = -(d * r[0] - b * r[1]) / (a * d - b * c)
    v[-1] = -(a * r[1] - c * r[0]) / (a * d - b * c)
  } else {
    if len(q[0]) == 2 { v[0] = -r[0] / q[0][0][0] }
    if len(q[1]) == 2 { v[-1] = -r[1] / q[1][0][-1] }
  }
  v
}

# d(end value)/d(values its row uses), for each end: with 0 at the ends themselves.
_end_slopes(g, q) = {
  T = map(side -> if len(q[side]) == 2 {
    w = q[side][0]
    if g.dense { w[0] = 0.0; w[-1] = 0.0 } else { w[if side == 0 { 0 } else { -1 }] = 0.0 }
    w
  } else { list() }, list(0, 1))
  if len(q[0]) == 2 and len(q[1]) == 2 {
    (a, b) = (q[0][0][0], _cross(g, q[0][0], -1))
    (c, d) = (_cross(g, q[1][0], 0), q[1][0][-1])
    det = a * d - b * c
    if g.dense { list(-(d * T[0] - b * T[1]) / det, -(a * T[1] - c * T[0]) / det) } else { list(-T[0] / a, -T[1] / d) }
  } else {
    map(side -> if len(q[side]) == 2 { -T[side] / q[side][0][if side == 0 { 0 } else { -1 }] } else { list() }, list(0, 1))
  }
}

# ---- the method of lines

_top_order(info) = {
  o = 1
  for j in info.jets { o = max(o, j[2]) }
  o
}

_check_lines(info, m) = {
  if len(info.coords) != 2 { _refuse("{m.name}() solves problems in t and one space coordinate") }
  if info.coords[0] != "t" { _refuse("{m.name}() needs t as the first coordinate of the domain") }
  for (k, f) in enumerate(info.fields) {
    if info.sizes[k] != 0 { _refuse("{m.name}() takes scalar fields; {f} is a vector") }
    if _order_of(info, k, 0) != 1 { _refuse("{m.name}() integrates in t, and {f} is not of first order in t") }
    for side in (0, 1) {
      if len(_end_conditions(info, k, side)) > 1 { _refuse("{m.name}() takes at most one condition on {f} at each end") }
    }
  }
  for j in info.jets { if j[1] > 0 and j[2] > 0 { _refuse("{m.name}() does not serve mixed derivatives of t and x") } }
}

# Where the unknowns of a field begin and end among its nodes.
_first_length(ends) = len(ends[0])
_count(g, ends) = len(g.x) - len(ends[0]) - len(ends[1])

# All nodal values of each field, from the state.
_fill(info, g, ends, t, y, top) = {
  out = list()
  at = 0
  for k in list(...(0..len(info.fields))) {
    n = _count(g, ends[k])
    u = y[at..at + n]
    if len(ends[k][0]) == 1 { u = concat(zeros(1), u) }
    if len(ends[k][1]) == 1 { u = concat(u, zeros(1)) }
    out = push(out, _set_ends(g, _end_equations(info, g, ends[k], t, k, top), u))
    at = at + n
  }
  out
}

# Arrays of every jet that the equations use; rates are the time derivatives.
_line_jets(info, g, fields, rates) =
  map(j -> if j[1] == 1 { rates[j[0]] } else { _apply(g, j[2], fields[j[0]]) }, list(...info.jets))

_initial_lines(info, g) = {
  zero = map(j -> 0.0 * g.x, list(...info.jets))
  out = map(f -> 0.0 * g.x, list(...info.fields))
  for c in info.conditions {
    if _is_time(c) {
      f = info.jets[c.jets[0]][0]
      t0 = zeros_like(g.x) + info.lo[0]
      z = c.residual((t0, g.x), zero) + 0 * g.x
      one = map(j -> if j[0] == f and j[1] == 0 and j[2] == 0 { zero[0] + 1 } else { zero[0] }, list(...info.jets))
      out[f] = -z / (c.residual((t0, g.x), one) - z)
    }
  }
  out
}

_strip(g, ends, fields) = {
  parts = list()
  for (k, u) in enumerate(fields) { parts = push(parts, u[_first_length(ends[k]).._first_length(ends[k]) + _count(g, ends[k])]) }
  concat(...parts)
}

# Values of the Jacobian for each pair of equation and field, on the stencil of each row: f64[N, width].
_block(info, g, q, field, t, jets, top) = {
  n = len(g.x)
  tt = zeros_like(g.x) + t
  total = if g.dense { zeros(n, n) } else { zeros(n, g.width) }
  for (i, j) in enumerate(info.jets) {
    if j[0] == field and j[1] == 0 {
      ones_at = map(k -> if k == i { 1.0 + 0 * g.x } else { 0.0 * g.x }, list(...(0..len(info.jets))))
      partial = jvp(js -> q.residual((tt, g.x), js) + 0 * g.x, jets, ones_at)[1]
      total = total - expand(partial, 1) * g.D[j[2]]
    }
  }
  total
}

# A row's entry at an end of the grid stands for the end's own dependence on the nodes beside it.
_fold_ends(info, g, ends, field, t, V, top) = {
  out = V
  slopes = _end_slopes(g, _end_equations(info, g, ends[field], t, field, top))
  for side in (0, 1) {
    if len(ends[field][side]) == 1 {
      last = if side == 0 { 0 } else { -1 }
      column = if g.dense {
        V[.., last]
      } else {
        where(if side == 0 { g.idx[.., 0] == 0 } else { g.idx[.., -1] == len(g.x) - 1 }, V[.., last], 0.0)
      }
      out = out + expand(column, 1) * expand(slopes[side], 0)
    }
  }
  out
}

_solve_lines(info, m, o) = {
  _check_lines(info, m)
  top = _top_order(info)
  g = m.grid(m, info.lo[1], info.hi[1], info.periodic[1], top)
  ends = map(k -> list(_end_conditions(info, k, 0), _end_conditions(info, k, 1)), list(...(0..len(info.fields))))
  nf = len(info.fields)
  start = _initial_lines(info, g)
  y0 = _strip(g, ends, start)
  zero = map(u -> 0.0 * u, start)
  tt = t -> zeros_like(g.x) + t
  for i in list(...(0..nf)) {
    for k in list(...(0..nf)) {
      slope =
        _slope(r -> info.equations[i].residual((tt(info.lo[0]), g.x),
          _line_jets(info, g, start, map(j -> if j == k { r } else { zero[j] }, list(...(0..nf))))), start[k])
      if slope != (if i == k { 1 } else { 0 }) {
        _refuse("{m.name}() needs equation {i + 1} to have {info.fields[i]}_t with coefficient 1, and no other rate")
      }
    }
  }
  rate = (t, y) -> {
    fields = _fill(info, g, ends, t, y, top)
    jets = _line_jets(info, g, fields, zero)
    _strip(g, ends, map(q -> -q.residual((tt(t), g.x), jets) + 0 * g.x, list(...info.equations)))
  }
  tspan = if kind(o.t) == "none" { (info.lo[0], info.hi[0]) } else { (f64(o.t[0]), f64(o.t[1])) }
  if g.dense {
    jac = (t, y) -> {
      jets = _line_jets(info, g, _fill(info, g, ends, t, y, top), zero)
      rows = list()
      for q in info.equations {
        row = list()
        e = len(rows)
        for k in list(...(0..nf)) {
          V = _fold_ends(info, g, ends, k, t, _block(info, g, q, k, t, jets, top), top)
          r0 = _first_length(ends[e])
          c0 = _first_length(ends[k])
          row = push(row, V[r0..r0 + _count(g, ends[e]), c0..c0 + _count(g, ends[k])])
        }
        rows = push(rows, concat(...row; axis = 1))
      }
      concat(...rows; axis = 0)
    }
    (times, Y, stats) = _integrate(m.time, rate, jac, none, y0, tspan[0], tspan[1], o)
    _line_solution(info, m, g, ends, times, Y, stats, top, len(o.saveat) == 0)
  } else {
    pattern = _line_pattern(info, g, ends)
    jac = (t, y) -> {
      jets = _line_jets(info, g, _fill(info, g, ends, t, y, top), zero)
      parts = list()
      for q in info.equations {
        for k in list(...(0..nf)) {
          parts = push(parts, ravel(_fold_ends(info, g, ends, k, t, _block(info, g, q, k, t, jets, top), top)))
        }
      }
      concat(...parts)[pattern.order]
    }
    (times, Y, stats) = _integrate(m.time, rate, jac, (pattern.colptr, pattern.rowind), y0, tspan[0], tspan[1], o)
    _line_solution(info, m, g, ends, times, Y, stats, top, len(o.saveat) == 0)
  }
}

# The sparsity of the Jacobian by columns, and where each entry lies among the stencil values. A row or column of an end that a condition
# determines does not exist.
_line_pattern(info, g, ends) = {
  n = len(g.x)
  nf = len(info.fields)
  rows = list()
  cols = list()
  keep = list()
  offset = list()
  at = 0
  for k in list(...(0..nf)) {
    offset = push(offset, at - _first_length(ends[k]))
    at = at + _count(g, ends[k])
  }
  for e in list(...(0..nf)) {
    for k in list(...(0..nf)) {
      i = broadcast_to(expand(iota(n), 1), n, g.width)
      row_in = (i >= _first_length(ends[e])) and (i < _first_length(ends[e]) + _count(g, ends[e]))
      col_in = (g.idx >= _first_length(ends[k])) and (g.idx < _first_length(ends[k]) + _count(g, ends[k]))
      rows = push(rows, ravel(i + offset[e]))
      cols = push(cols, ravel(g.idx + offset[k]))
      keep = push(keep, ravel(row_in and col_in))
    }
  }
  total = at
  kept = findall(concat(...keep))
  r = concat(...rows)[kept]
  c = concat(...cols)[kept]
  order = argsort(c * total + r)
  counts = zeros(total + 1)
  counts[c + 1] += 1.0
  (order = kept[order], rowind = r[order], colptr = i64(cumsum(counts)))
}

# ---- solutions as functions

# Interpolation in x of nodal values, as a function of x (any shape).
_interpolant(g, u) = if g.dense {
  if g.family == "fourier" { _fourier_interpolant(g, u) } else { _chebyshev_interpolant(g, u) }
} else {
  _local_interpolant(g, u)
}

# Local Lagrange interpolation on width + 1 neighbouring nodes.
_local_interpolant(g, u) = x -> {
  n = len(g.x)
  w = g.width + 1
  cell = searchsorted(g.x, stop_gradient(x)) - 1
  start = clamp(cell - w // 2 + 1, 0, n - w)
  total = 0.0 * x
  for j in list(...(0..w)) {
    p = 1.0
    for k in list(...(0..w)) {
      if k != j { p = p * ((x - g.x[start + k]) / (g.x[start + j] - g.x[start + k])) }
    }
    total = total + p * u[start + j]
  }
  total
}

# Periodic grids: the same after wrapping x and repeating a few nodes on each side.
_wrap(g, u) = {
  w = g.width + 1
  L = g.b - g.a
  (g = (...g, x = concat(g.x[-w..] - L, g.x, g.x[..w] + L)), u = concat(u[-w..], u, u[..w]))
}
_inside(g, x) = g.a + mod(x - g.a, g.b - g.a)

# Clenshaw summation of the Chebyshev series through the nodes.
_chebyshev_interpolant(g, u) = {
  n = len(u) - 1
  k = iota(n + 1)
  weight = where((k == 0) or (k == n), 0.5, 1.0)
  # s_j = sin(pi (2j - n)/(2n)) = cos(pi (n - j)/n)
  T = cos(π * expand(k, 1) * expand(n - k, 0) / f64(n))
  c = (2.0 / n) * weight * (T @ (weight * u))
  x -> {
    s = _unplace(x, g.a, g.b, g.cluster)
    b1 = 0.0 * s
    b2 = 0.0 * s
    for j in 0..n {
      b0 = c[n - j] + 2 * s * b1 - b2
      b2 = b1
      b1 = b0
    }
    c[0] + s * b1 - b2
  }
}
_unplace(x, a, b, cluster) = if kind(cluster) == "none" { (2 * x - (a + b)) / (b - a) } else {
  (x0, w) = cluster
  lo = atan((a - x0) / w)
  hi = atan((b - x0) / w)
  (2 * atan((x - x0) / w) - (lo + hi)) / (hi - lo)
}

_fourier_interpolant(g, u) = {
  n = len(u)
  c = fft(u) / f64(n)
  k = iota(n // 2 + 1)
  weight = where((k == 0) or (k == n // 2), 1.0, 2.0)
  re = weight * real(c[k])
  im_ = weight * imag(c[k])
  x -> {
    θ = expand(2π * (x - g.a) / (g.b - g.a), rank(x)) * k
    sum(re * cos(θ) - im_ * sin(θ); axis = rank(x))
  }
}

# A field at (t, x): numbers, vectors, or arrays that broadcast against each other.
_line_field(info, g, ends, state, k, top, periodic) = (t, x) -> {
  at = tt -> {
    u = _fill(info, g, ends, tt, state(tt), top)[k]
    if periodic and not g.dense { w = _wrap(g, u); _interpolant(w.g, w.u) } else { _interpolant(g, u) }
  }
  place = y -> if periodic { _inside(g, y) } else { y }
  tr = f64(t)
  xr = f64(x)
  if rank(tr) == 0 { at(tr)(place(xr)) } else {
    if rank(xr) == 0 { reshape(map(tt -> at(tt)(place(xr)), ravel(tr)), ...shape(tr)) } else {
      both = tr + 0 * xr
      reshape(map((tt, xx) -> at(tt)(place(xx)), ravel(both), ravel(xr + 0 * tr)), ...shape(both))
    }
  }
}

_line_solution(info, m, g, ends, times, Y, stats, top, whole) = {
  state = _dense(times, Y, m.time.degree, whole)
  functions = map(k -> _line_field(info, g, ends, state, k, top, info.periodic[1]), list(...(0..len(info.fields))))
  (...record(info.fields, functions), x = g.x, times = times, values = Y, stats = stats, method = m.name, kind = "pde",
   info = (fields = info.fields, coords = info.coords, lo = info.lo, hi = info.hi))
}

# ---- comparing

# compare(a, b, ...; reference, tol, nt, nx): relative L2 differences of solutions of one problem on a common grid of points, or of each against a
# reference (a function of (t, x), or of t). Prints a table; gives (agree, differences, worst).
#     problem decay() {
#       domain t in [0, 1]
#       field u
#       u_t == -u
#       u == 1 at t = 0
#     }
#     r = compare(solve(decay(), bdf()), solve(decay(), adams()); tol = 1e-3);
#     r.agree                        #> true
compare(a, b, c = none, d = none; reference = none, tol = 1e-2, nt = 21, nx = 201) = {
  all = list(a, b)
  if kind(c) != "none" { all = push(all, c) }
  if kind(d) != "none" { all = push(all, d) }
  worst = 0.0
  differences = list()
  values = map(s -> _sample(s, a.info, nt, nx), all)
  if kind(reference) != "none" {
    exact = _sample_function(reference, a.info, nt, nx)
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

_sample(s, info, nt, nx) = concat(...map(f -> ravel(_sample_function(field(s, f), info, nt, nx)), list(...info.fields)))
_sample_function(f, info, nt, nx) = {
  t = linspace(info.lo[0], info.hi[0], nt)
  if len(info.coords) == 1 { ravel(map(s -> f(s), t)) } else {
    x = linspace(info.lo[1], info.hi[1], nx)
    ravel(map(s -> f(s, x), t))
  }
}
