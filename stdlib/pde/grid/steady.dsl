# steady.dsl - problems without time on a tensor grid: Newton's method with the
# exact sparse Jacobian, fast transforms, and eigenproblems.

_solve_direct(info, m, S, o) = if info.eigen != "" { _solve_modes(info, m, S, o) } else {
  held = _pressure_of(info)
  if held.field >= 0 {
    p = info.fields[held.field]
    _refuse(
      "`{info.equations[held.equation].text}` is kept by {p}, which is not in it (a saddle point), "
      "and on one grid for all unknowns {p} has modes that no equation sees: "
      "{if _any_is_periodic(info) { "without periodic coordinates " } else { "" }}fem(order = 2) "
      "serves "
      "this"
      "{if _any_is_periodic(info) { "; else a stream function, or fourier() in t" } else { "" }}")
  }
  (U, stats) = _direct_values(info, m, S, o)
  s = _direct_solution(info, m, S, U, stats)
  if m.order == 0 { (...s, error = _series_tail(info, S, U, expand(U, 0))) } else { s }
}
_direct_values(info, m, S, o) =
  if _is_by_transforms(info, m, S) { _solve_by_transforms(info, m, S) } else {
    free = _free_constants(info, S)
    if len(free) == 0 {
      _solve_newton(info, m, S, o)
    } else {
      _solve_up_to_constants(info, m, S, o, free)
    }
  }

# Returns the largest of the last tenth of the coefficients of U in each
# coordinate, relative to the largest coefficient. It is scaled down where U is
# small relative to the rows Y, f64[times, unknowns], as in the error estimates
# (_own_sizes).
_series_tail(info, S, U, Y) = {
  (tops, own) = (zeros(S.parts), zeros(S.parts))
  for i in each(S.parts) {
    tops[i] = max(abs(stop_gradient(Y[.., i * S.T.P..(i + 1) * S.T.P])))
    own[i] = max(abs(stop_gradient(_part_of(S, U, i))))
  }
  size = _own_sizes(info, own, tops, 1e-8 * max(tops) + 1e-300)
  worst = 0.0
  for i in each(S.parts) {
    c = abs(stop_gradient(_coefficients(S.T, _part_of(S, U, i))))
    for p in each(S.T.count) {
      n = S.T.n[p]
      k = _at_in(S.T, iota(S.T.P), p)
      wave = if S.T.dims[p].family == "fourier" { 2 * where(k > n // 2, k - n // 2, k) } else { k }
      tail = max(where(10 * wave >= 9 * n, c, 0.0)) / max(max(c), 1e-300)
      worst = max(worst, tail * min(own[i] / size[i], 1.0))
    }
  }
  worst
}
# Returns the scale of errors for values of sizes own, whose maximum over time
# is tops. For waves, errors are relative to the maximum, since waves may leave
# the domain. For diffusion they are relative to the present size, down to a
# thousandth of the maximum.
_own_sizes(info, own, tops, least) =
  max(if _is_of_waves(info) { tops + 0.0 * own } else { max(own, 1e-3 * tops) }, least)
_is_of_waves(info) = {
  waves = info.type == "hyperbolic" or info.type == "dispersive"
  for j in info.jets { if info.time >= 0 { if j[1 + info.time] > 1 { waves = true } } }
  waves
}

# Returns the root u of F(u) = 0, which is already computed. Its derivative
# follows from the implicit function theorem, by a sparse solve with the
# Jacobian J(u).
_zero_on(F, J, u) = u
derivative _zero_on(F, J, u), dF, dJ, du = -linsolve(J(y), dF(y))

# Damped Newton's method: a step is halved until the residual falls. It stops
# when a step is negligible relative to rtol and atol, or the residual is at
# rounding level.
_solve_newton(info, m, S, o) = {
  conditions = _conditions_of(info, S)
  matched = _matched(info, S)
  A = _whole_jacobian(info, S, matched, conditions)
  F = U -> _whole_residual(info, S, matched, conditions, 0.0, U, none)
  J = U -> _as_sparse(A.pattern, A.values(0.0, U, none, 0.0, 0.0))
  jumps = _has_jumps(info)
  newton = if jumps { _newton_across } else { _newton_on }
  (still, slopes) = (v -> stop_gradient(F(v)), v -> (...J(v), values = stop_gradient(J(v).values)))
  from = U0 -> newton(still, slopes, U0, o, v -> _sizes_on(S, v), info.name)
  U0 = _direct_guess(info, S, o.guess)
  across = (F, J, U, name) -> _newton_across(F, J, U, o, v -> _sizes_on(S, v), name)
  (U, turns, last) = if kind(o.guess) != "none" { from(U0) } else if jumps {
    try { from(U0) } catch e { from(_start_by_elements(info, S, o, e)) }
  } else if _is_quasilinear(info) {
    # The grid's equations may have spurious solutions; elements have none where
    # these problems are monotone.
    from(try { _start_by_elements(info, S, o, "") } catch e { U0 })
  } else {
    try { from(U0) } catch e { from(_from_linear(across, still, slopes, U0, e)) }
  }
  response = _primal(() -> max(abs(_correction(J(U), _some_sources(info, S)))))
  (_zero_on(F, J, U),
    (newton = turns, unknowns = S.N, elements = len(A.pattern.rows), response = response))
}
# Returns a fixed right-hand side for all equations and conditions, the same on
# every grid. The largest value of the solution for it, the response, grows
# under refinement where the problem has no solution.
_some_sources(info, S) = {
  x = zeros(S.T.P)
  for (d, c) in enumerate(list(...info.space)) {
    x = x + (1.3 + 0.8 * d) * (S.T.X[d] - info.lo[c]) / (info.hi[c] - info.lo[c])
  }
  concat(...map(i -> cos(x + 0.7 * i), each(S.parts)))
}
# Whether an unknown may change the factor of a derivative of second or higher
# order.
_is_quasilinear(info) = {
  (found, n) = (false, len(info.coords))
  for q in info.equations {
    d = _residual_dependence(info, q).factors
    for (i, j) in enumerate(info.jets) {
      order = _jet_order(j)
      for k in each(len(info.jets)) { if order > 1 and d[n + i][n + k] { found = true } }
    }
  }
  found
}
# Continues Newton's method from the linearisation at U0 by the strength of the
# nonlinearity (_by_strength). said: the message on failure, that of plain
# Newton.
_from_linear(newton, F, J, U0, said) = {
  first = F(U0)
  (V, s, _) = _by_strength((V, s) -> {
    at = U -> U0 + s * (U - U0)
    try {
      (W, k, _) = newton(U -> first + (F(at(U)) - first) / s, U -> J(at(U)), V, "");
      (W, true, k)
    } catch e {
      (V, false, 0)
    }
  }, U0)
  if s < 1 { error(said) }
  V
}
# Continuation in the strength s of the nonlinearity from 0 to 1 (Allgower and
# Georg, Numerical Continuation Methods, 1990). The equation is R(U0) + (R(U0 +
# s (U - U0)) - R(U0)) / s == 0. attempt(V, s) returns the solution of strength
# s from V, whether it was found, and its iterations. Returns the last solution,
# its strength (below 1 where it failed), and all iterations.
_by_strength(attempt, V) = {
  (s, ds, turns) = (0.0, 0.125, 0)
  while s < 1 and ds > 1e-3 {
    next = min(1.0, s + ds)
    (W, found, k) = attempt(V, next)
    turns = turns + k
    if found { V = W; s = next; ds = 2ds } else { ds = ds / 4 }
  }
  (V, s, turns)
}
# Returns an initial guess: the finite element solution at the nodes. said: the
# message where elements cannot solve the problem.
_start_by_elements(info, S, o, said) =
  try { stop_gradient(_direct_guess(info, S, _by_elements(info, o))) } catch e { error(said) }
# Newton's method where factors switch with the unknowns. Residuals may increase
# on the way, so the size of the corrections controls the damping (bvp.dsl).
_newton_across(F, J, u0, o, sizes, name) = {
  (u, state, turns) =
    _newton_damped(F, J, v -> { size = sizes(v); size + _least_of(o, size) }, u0, 1e-11,
      0.1 * o.rtol, 60)
  if state != 0 {
    error(
      "{name}: Newton's method does not converge: after {turns} turns the residual is "
      "{norm(F(u))}; give a guess nearer to the solution: solve(..., guess = (u = ...))")
  }
  (u, turns, 0.0)
}

# Returns the fields that occur, in equations and in conditions on faces, only
# by their derivatives, so that with u every u + c is a solution. Proven from
# their code.
_free_constants(info, S) = {
  out = list()
  for k in each(S.count) {
    free = true
    for q in (...info.equations, ...info.conditions) {
      at_point = if kind(q.at) == "none" { false } else { q.at.coord < 0 }
      if not at_point {
        d = _residual_dependence(info, q)
        for (i, j) in enumerate(info.jets) {
          order = _jet_order(j)
          if j[0] == k and order == 0 and d.depends[len(info.coords) + i] { free = false }
        }
      }
    }
    if free { out = push(out, k) }
  }
  out
}
# Newton's method where fields are determined up to constants. The matrix has
# one dependent row for each constant, so each such field gets the constraint
# that its mean at the nodes is 0. Its equation gets one more unknown, the
# imbalance of sources and fluxes. A discretisation's imbalance is small; that
# of an inconsistent problem is not, and is refused. Afterwards a condition at a
# point shifts the field.
_solve_up_to_constants(info, m, S, o, free) = {
  P = S.T.P
  (conditions, pins) = (list(), list())
  for c in _conditions_of(info, S) {
    pinned = false
    for k in free { if c.p < 0 and c.rows[0].field == k { pinned = true } }
    for d in pins { if d.rows[0].part == c.rows[0].part and c.p < 0 { pinned = false } }
    if pinned { pins = push(pins, c) } else { conditions = push(conditions, c) }
  }
  matched = _matched(info, S)
  A = _whole_jacobian(info, S, matched, conditions)
  parts = list()
  for k in free {
    for c in each(_width(info, k)) { parts = push(parts, _first_part(info, S.levels, k, 0) + c) }
  }
  n = len(parts)
  own = map(part -> f64(A.owner[part * P..(part + 1) * P] == -1), parts)
  F = W -> {
    U = W[..S.N]
    R = _whole_residual(info, S, matched, conditions, 0.0, U, none)
    for (a, part) in enumerate(parts) { R[part * P..(part + 1) * P] += W[S.N + a] * own[a] }
    concat(R, stack(...map(part -> mean(U[part * P..(part + 1) * P]), parts)))
  }
  nodes = map(part -> part * P + iota(P), parts)
  last = map(a -> S.N + a + 0 * iota(P), each(n))
  pattern = _gathered(concat(A.pattern.rows, ...nodes, ...last),
    concat(A.pattern.columns, ...last, ...nodes), S.N + n, S.N + n)
  J = W -> _as_sparse(pattern,
    _summed(pattern, concat(A.values(0.0, W[..S.N], none, 0.0, 0.0), ...own,
      ...map(a -> ones(P) / f64(P), each(n)))))
  W0 = concat(_direct_guess(info, S, o.guess), zeros(n))
  # The imbalance is small relative to the sources.
  sources = max(abs(stop_gradient(F(0 * W0))))
  (W, turns, last_step) =
    _newton_on(v -> stop_gradient(F(v)), v -> (...J(v), values = stop_gradient(J(v).values)), W0, o,
      v -> concat(_sizes_on(S, v[..S.N]), abs(v[S.N..]) + sources), info.name)
  W = _zero_on(F, J, W)
  _check_balance(info, W[S.N..], F(0.0 * W)[..S.N], o)
  U = W[..S.N]
  # The mean at the nodes differs on each grid, the mean over the box does not.
  weights = _mean_weights(S.T)
  for part in parts { U[part * P..(part + 1) * P] -= sum(weights * U[part * P..(part + 1) * P]) }
  for c in pins {
    for w in c.rows {
      at = w.part * P
      u = U[at..at + P]
      U[at..at + P] = u + _pin_shift(info, S, c, w, u)
    }
  }
  (U, (newton = turns, unknowns = S.N, elements = len(A.pattern.rows)))
}
# Returns the weights of the values at the nodes for the mean over the box.
_mean_weights(T) = {
  w = ones(1)
  for g in T.dims { w = ravel(expand(w, 1) * _mean_along(g)) }
  w
}
# Returns these weights along one coordinate: the interpolant, integrated by
# Gauss quadrature between neighbouring nodes.
_mean_along(g) = if g.periodic { ones(len(g.x)) / len(g.x) } else {
  n = len(g.x)
  c = _series_of(g, expand(eye(n), 0))[0]
  (t, w) = gauss_legendre(6; a = 0.0, b = 1.0)
  (h, from) = (diff(g.x), g.x[..-1])
  parts =
    map((t, w) -> sum(expand(w * h, 1) * map(x -> _between_nodes(g, c, x), from + t * h); axis = 0),
      t, w)
  sum(parts; axis = 0) / (g.b - g.a)
}
# Returns the shift of a field's component that satisfies a condition at a
# point; row w is linear in its value.
_pin_shift(info, S, c, w, u) = {
  here = _values_at(S.T, _coefficients(S.T, u), map(x -> f64(x), (...c.q.at.point,)))
  at = v -> map(i -> {
    j = info.jets[i]
    whole = _zero_jets(info)[i]
    order = _jet_order(j)
    if j[0] != w.field or order > 0 {
      whole
    } else if info.sizes[w.field] == 0 {
      v
    } else {
      v * f64(iota(info.sizes[w.field]) == w.component)
    }
  }, each(len(info.jets)))
  own = r -> if rank(r) == 0 { r } else { r[w.row] }
  (r, slope) =
    jvp(v -> own(c.q.residual((...map(x -> f64(x), (...c.q.at.point,)),), at(v))), here, 1.0)
  -r / slope
}
_check_balance(info, lacks, sources, o) = {
  size = sqrt(mean(sources^2))
  off = max(abs(stop_gradient(lacks))) / max(stop_gradient(size), 1e-300)
  if off > 0.01 and max(abs(stop_gradient(lacks))) > o.atol {
    text =
      ("sources and fluxes of {info.name} do not balance, by {100 * off:.2g} % of the sources, so "
        "that it has no solution: a field that is determined up to a constant only has one where "
        "they do")
    if off > 0.1 and not o.partial { error(text) }
    _warning(text)
  }
}

# Returns the largest value of each unknown, repeated at all of its nodes.
_sizes_on(S, U) =
  { v = reshape(abs(U), S.parts, S.T.P); ravel(expand(max(v; axis = 1), 1) + 0.0 * v) }
_newton_on(F, J, u0, o, sizes, name) = {
  u = u0
  v = F(u)
  A = J(u)
  k = 0
  state = 0
  size = inf
  while state == 0 {
    A = if k == 0 { A } else { J(u) }
    d = _correction(A, v)
    if not (max(abs(d)) < inf) { error(_undetermined(name)) }
    t = 1.0
    u1 = u + d
    v1 = F(u1)
    while not (norm(v1) < norm(v)) and t > 1e-4 {
      t = 0.5 * t
      u1 = u + t * d
      v1 = F(u1)
    }
    size = max(abs(d) / (o.rtol * (abs(u1) + _least_of(o, sizes(u1))) + 1e-300))
    better = norm(v1) < norm(v)
    # After a full step the error is about its square, so a square far below the
    # tolerance ends the iteration. So does a negligible step.
    state = if (t == 1.0 and size * size * o.rtol < 1e-3 and size < 1e3) or size < 1e-3 {
      1
    } else if better {
      0
    } else if size < 1e3 {
      1
    } else {
      2
    }
    if better { u = u1; v = v1 }
    k = k + 1
    if k == 60 and state == 0 { state = 2 }
  }
  if not o.partial and _moved_by_rounding(A, sizes(u)) > 1e-3 { error(_undetermined(name)) }
  if state == 2 {
    error(
      "{name}: Newton's method does not converge: after {k} turns the residual is {norm(v)}; give "
      "a guess nearer to the solution: solve(..., guess = (u = ...))")
  }
  (u, k, size)
}
# Returns the initial iterate: by field, numbers, functions of the space
# coordinates, or a solution; zero for fields without one.
_direct_guess(info, S, guess) = concat(...map(k -> {
  given = if kind(guess) == "none" {
    0.0
  } else if has(guess, info.fields[k]) {
    field(guess, info.fields[k])
  } else {
    0.0
  }
  v = if kind(given) == "function" { given(...S.T.X) } else { given }
  if info.sizes[k] == 0 {
    f64(v) + zeros(S.T.P)
  } else {
    ravel(transpose(f64(v) + zeros(S.T.P, info.sizes[k])))
  }
}, each(S.count)))

_direct_solution(info, m, S, U, stats) = {
  functions = map(k -> _space_field(info, S, U, k), each(S.count))
  (...record(info.fields, functions), x = S.T.dims[0].x, grid = map(g -> g.x, S.T.dims), at = S.T.X,
    times = zeros(0), values = U, stats = stats, method = m.name, kind = "pde", error = none,
    info = _info_of(info))
}
_space_field(info, S, U, k) = {
  coefs = map(c -> _coefficients(S.T, _part_of(S, U, _first_part(info, S.levels, k, 0) + c)),
    (...(0.._width(info, k)),))
  (...point) -> {
    if len(point) != len(info.coords) {
      _refuse("{info.fields[k]} is a function of ({join(info.coords, ", ")})")
    }
    all = map(c -> _values_at(S.T, c, point), coefs)
    if info.sizes[k] == 0 { all[0] } else { stack(...all; axis = rank(all[0])) }
  }
}

# ---- fast transforms

# Whether a problem is one linear equation with constant factors and pure second
# derivatives, on a uniform grid, with Dirichlet or periodic conditions. Sines
# and Fourier modes are then eigenvectors of the difference operators.
_is_by_transforms(info, m, S) =
  if m.name != "fd" or S.count != 1 or kind(m.cluster) != "none" { false } else {
    fine = info.sizes[0] == 0 and len(info.equations[0].nonlinear) == 0 and not _has_jumps(info)
    for p in info.periodic { if not p and m.order != 2 { fine = false } }
    for i in info.equations[0].linear {
      total = 0
      for d in S.T.space {
        o = info.jets[i][1 + d]
        if o % 2 == 1 or o > 2 { fine = false }
        total = total + o
      }
      if total > 2 { fine = false }
    }
    for c in info.conditions {
      if c.at.coord < 0 or len(c.nonlinear) > 0 { fine = false }
      for i in c.linear { for d in S.T.space { if info.jets[i][1 + d] > 0 { fine = false } } }
    }
    fine
  }

# Solves by diagonalisation: sine transforms along coordinates with values at
# both ends, Fourier transforms along periodic ones. The source is evaluated at
# the inner nodes; face values contribute to the layers next to them. Only the
# transformed array has the size of the grid. Returns (values, whether the
# operator is regular, the response).
_by_transforms(info, m, S) = {
  T = S.T
  q = info.equations[0]
  inside = map(g -> if g.periodic { g.x } else { g.x[1..-1] }, T.dims)
  v = _over_box(inside, x -> _residual_at(info, S, q, 0.0, x, _zero_jets(info)))
  x = _some_point(info, S)
  factors = map(p -> 0.0, each(T.count))
  constant = 0.0
  for i in q.linear {
    own =
      jvp(js -> _residual_at(info, S, q, 0.0, x, js), _zero_jets(info), _unit_jet(info, i, 0))[1]
    along = -1
    for p in each(T.count) { if info.jets[i][1 + T.space[p]] == 2 { along = p } }
    if along < 0 { constant = own } else { factors[along] = own }
  }
  faces = map(p -> map(side -> _face_values(info, S, p, side, inside), (0, 1)), (...(0..T.count),))
  for p in each(T.count) {
    if not T.dims[p].periodic and len(T.dims[p].D) > 2 {
      for side in (0, 1) {
        face = faces[p][side]
        for r in each(p) {
          if not T.dims[r].periodic { face = take(face, 1 + iota(T.n[r] - 2); axis = r) }
        }
        w = factors[p] *
          T.dims[p].D[2][if side == 0 { 1 } else { -2 }][if side == 0 { 0 } else { -1 }]
        v = _added_to_layer(v, p, if side == 0 { 0 } else { -1 }, w * face)
      }
    }
  }
  own = map(p -> if len(T.dims[p].D) >
    2 { factors[p] * _second_eigenvalues(T, p) } else { 0.0 * inside[p] }, (...(0..T.count),))
  own = (constant + own[0], ...own[1..])
  shaped =
    map(p -> reshape(own[p], ...map(r -> if r == p { len(own[p]) } else { 1 }, (...(0..T.count),))),
      (...(0..T.count),))
  # The range of the sums shows that none is zero, unless it contains zero.
  low = sum(stack(...map(e -> min(e), own)))
  high = sum(stack(...map(e -> max(e), own)))
  large = max(abs(low), abs(high))
  (small, response) =
    if low * high > 0 { (min(abs(low), abs(high)), 1 / min(abs(low), abs(high))) } else {
      all = abs(_sum_over_box(shaped))
      (min(all), max(where(all > 1e-13 * large, 1 / all, 0.0)))
    }
  for p in each(T.count) { v = if T.dims[p].periodic { v } else { _sine_sums(v, p) } }
  v = if _any_periodic(T) {
    total = _sum_over_box(shaped)
    z = v + 0im
    for p in each(T.count) { if T.dims[p].periodic { z = fft(z; axis = p) } }
    z = where(abs(total) > 1e-13 * large, -z / where(total == 0, 1.0, total), 0im)
    for p in each(T.count) { if T.dims[p].periodic { z = ifft(z; axis = p) } }
    real(z)
  } else { v / _sum_over_box(map(e -> -e, shaped)) }
  for p in each(T.count) { v = if T.dims[p].periodic { v } else { _from_sine_sums(v, p) } }
  for p in each(T.count) {
    v = if T.dims[p].periodic { v } else { concat(faces[p][0], v, faces[p][1]; axis = p) }
  }
  (ravel(v), _any_periodic(T) or small > 1e-13 * large, stop_gradient(response))
}
_solve_by_transforms(info, m, S) = {
  (U, fine, response) = _by_transforms(info, m, S)
  if not fine { error("{info.name} has no unique solution: its operator is singular") }
  (U, (unknowns = S.N, newton = 0, elements = 0, response = response))
}
# Evaluates a function of a point at all points of a box of nodes; an array of
# the box's shape.
_over_box(nodes, f) = if len(nodes) == 1 { map(a -> f((a,)), nodes[0]) } else if len(nodes) == 2 {
  map(a -> map(b -> f((a, b)), nodes[1]), nodes[0])
} else {
  map(a -> map(b -> map(c -> f((a, b, c)), nodes[2]), nodes[1]), nodes[0])
}
_sum_over_box(parts) = { total = parts[0]; for e in parts[1..] { total = total + e }; total }
# Returns the values that the condition prescribes on a face. Where faces meet,
# the later coordinate's condition applies, so faces have only the inner nodes
# of later coordinates.
_face_values(info, S, p, side, inside) = {
  g = S.T.dims[p]
  if g.periodic { none } else {
    q = info.conditions[0]
    for c in info.conditions { if c.at.coord == S.T.space[p] and c.at.side == side { q = c } }
    i = q.linear[0]
    end = g.x[if side == 0 { 0 } else { -1 }]
    nodes = map(r -> if r == p { reshape(end, 1) } else if r <
      p { S.T.dims[r].x } else { inside[r] }, (...(0..S.T.count),))
    _over_box(nodes, x -> {
      (v, slope) =
        jvp(js -> _residual_at(info, S, q, 0.0, x, js), _zero_jets(info), _unit_jet(info, i, 0))
      -v / slope
    })
  }
}
_added_to_layer(v, p, k, more) = {
  n = shape(v)
  before = 1
  for r in each(p) { before = before * n[r] }
  w = reshape(v, before, n[p], -1)
  w[.., k, ..] += reshape(more, before, -1)
  reshape(w, ...n)
}
_any_periodic(T) = {
  any = false
  for g in T.dims { if g.periodic { any = true } }
  any
}
# Returns the eigenvalues of the second difference along coordinate p.
_second_eigenvalues(T, p) = {
  g = T.dims[p]
  n = T.n[p]
  if g.periodic { real(fft(_first_column(g, n) + 0im)) } else {
    h = (g.b - g.a) / (n - 1)
    -(2 * sin(0.5π * (1 + iota(n - 2)) / (n - 1)) / h)^2
  }
}
_first_column(g, n) = {
  c = zeros(n)
  c[(n - g.idx[0]) % n] += g.D[2][0]
  c
}
# ---- eigenproblems

# Whether zero satisfies a condition, decided from its code.
_is_homogeneous(info, c) = {
  r = c.residual((...map(i -> 0.0 + info.lo[i], each(len(info.coords))),), _zero_jets(info))
  zero = if rank(r) == 0 { r == 0.0 } else {
    all_ = true
    for i in each(len(r)) { all_ = all_ and r[i] == 0.0 }
    all_
  }
  _known(zero, "whether a condition of an eigenproblem is homogeneous")
}
# Returns the homogeneous conditions, and the inhomogeneous one, which only
# normalises the modes.
_conditions_of_modes(info, name) = {
  (own, sizes) = (list(), list())
  for c in info.conditions {
    if _is_homogeneous(info, c) { own = push(own, c) } else { sizes = push(sizes, c) }
  }
  if len(sizes) > 1 {
    _refuse(
      "{info.name} has {len(sizes)} conditions that do not hold for u == 0; of an eigenproblem "
      "{name}() takes one, which says how large a mode is. collocation() takes others")
  }
  ((...own,), sizes)
}
# Returns the factor with which a mode U satisfies a condition that is linear in
# it.
_mode_size(info, whole, S, q, U) = {
  c = _conditions_of((...whole, conditions = (q,)), S)[0]
  node = _nodes_of(S, c)[..1]
  x = map(v -> v[node][0], S.T.X)
  jets = map(v -> v[node][0], _jets_on(info, S, U, none))
  rest = sum(q.residual(_node_coordinates(info, S, 0.0, x), _zero_jets(info)))
  own = sum(q.residual(_node_coordinates(info, S, 0.0, x), jets)) - rest
  -rest / own
}
# Returns a message about a nonlinearity: "" where each equation and condition
# is linear in the fields and affine in the eigenvalue.
_bends_in_modes(info) = {
  said = ""
  n = len(info.coords)
  for q in (...info.equations, ...info.conditions) {
    d = _residual_dependence(info, q).factors
    for (i, a) in enumerate(info.jets) {
      for (k, b) in enumerate(info.jets) {
        if d[n + i][n + k] {
          (one, other) = (info.fields[a[0]], info.fields[b[0]])
          if one == info.eigen and other == info.eigen {
            said = "`{q.text}` is not linear in {info.eigen}"
          }
          if one != info.eigen and other != info.eigen {
            said = "`{q.text}` is not linear in {one}"
          }
        }
      }
    }
  }
  said
}
_tells_eigenvalue(info, c) = {
  d = _residual_dependence(info, c).depends
  told = false
  for (i, j) in enumerate(info.jets) {
    if info.fields[j[0]] == info.eigen and d[len(info.coords) + i] { told = true }
  }
  told
}
_refuse_bent_modes(info, name) = {
  said = _bends_in_modes(info)
  if said != "" {
    _refuse(
      "{said}, and {name}() finds eigenvalues of linear "
      "problems{if len(info.coords) == 1 {
        "; collocation() with a guess serves others on a line"
      } else { "" }}")
  }
}

# Solves the generalised eigenproblem A v = λ B v on the nodes without
# conditions: dense where the operators are, else by shift and invert. Returns
# the m.count eigenvalues nearest to m.near, by distance.
_solve_modes(info, m, S, o) = {
  _refuse_bent_modes(info, m.name)
  if _has_jumps(info) {
    _refuse(
      "`{_jump_in(info)}` of {info.name} derives what may jump; of eigenproblems fem() takes the "
      "fluxes, {m.name}() does not")
  }
  (own, sizes) = _conditions_of_modes(info, m.name)
  # On a line the eigenvalue is also a field, whose equation says that it is
  # constant.
  equations = map(i -> info.equations[i], each(S.count))
  (whole, info) = (info, (...info, equations = (...equations,), conditions = own))
  for c in info.conditions {
    if _tells_eigenvalue(info, c) {
      _refuse(
        "`{c.text}` has {info.eigen} in a condition: of eigenproblems fem() takes fluxes with it, "
        "{m.name}() does "
        "not{if len(info.coords) == 1 { "; so does collocation() with a guess" } else { "" }}")
    }
  }
  if not S.T.dense { _refuse_zigzag_modes(info, m, S) }
  conditions = _conditions_of(info, S)
  for c in conditions {
    if not _is_eliminable(info, S, c) {
      error(
        "{info.name}: the condition `{c.q.text}` of an eigenproblem must be linear, and along the "
        "normal only")
    }
  }
  stages = _end_stages(info, S, conditions)
  E = _elimination(S, stages)
  matched = _matched(info, S)
  sources = _sources(info, S, matched, list())
  groups = _groups(info, S, sources)
  (rows, columns, there) = _element_places(groups)
  p = _reduced(S, E, rows, columns, there)
  scale = map(s -> 1.0, sources)
  at = λ -> {
    v = _elements(info, S, sources, groups, 0.0, _jets_on(info, S, zeros(S.N), none, λ), scale, 0.0)
    _summed(p, _elements_from(p, v))
  }
  # Differentiates with respect to λ, since in the difference of two matrices
  # the large entries would cancel λ's digits.
  (a, b) = jvp(at, 0.0, 1.0)
  b = -b
  n = len(E.free)
  unit = _primal(() -> _unit_of_modes(info, S))
  (w, V) = if S.T.dense {
    _dense_modes(info, m, dense(_as_sparse(p, a)), dense(_as_sparse(p, b)), unit)
  } else {
    on = p.rows == p.columns
    weight = zeros(n)
    weight[p.rows] += where(on, b, 0.0)
    if max(abs(where(on, 0.0, b))) > 1e-12 * max(abs(b)) or min(abs(weight)) == 0 {
      error(
        "{info.name}: {m.name}() takes {info.eigen} only where it multiplies a field of its own in "
        "each equation; chebyshev() takes "
        "others{if len(info.coords) == 1 {
          ", and so does collocation() with a guess"
        } else { "" }}")
    }
    _nearest_modes(m,
      eigs((..._as_sparse(p, a), values = a / weight[p.rows]), min(m.count + 4, n - 2);
        sigma = m.near - 0.1 * unit))
  }
  first = findall(abs(imag(w)) > 1e-8 * max(abs(w)))
  if len(first) > 0 and not (o.partial and min(concat(first, [len(w)])) > 0) {
    error(
      "{info.name}: there are complex eigenvalues among the {len(w)} nearest to {m.near}: {w}; "
      "where few points make them, more have real ones, and partial = true gives those before them")
  }
  count = min(concat(first, [len(w)]))
  (values, V) = (real(w)[..count], V[.., ..count])
  values = if S.T.dense {
    _rayleigh_quotients(dense(_as_sparse(p, a)), dense(_as_sparse(p, b)), values, real(V))
  } else {
    values
  }
  # High derivatives have larger rounding errors than their elements, and
  # products of matrices larger ones still.
  products =
    max(1.0, max(0, ...map(c -> _top_by(info, c), list(...info.space))) / 2.0)^(
      if kind(m.cluster) == "none" { 1 } else { 3 })
  matrix_of = v -> if S.T.dense { dense(_as_sparse(p, v)) } else { _as_sparse(p, v) }
  # With many unknowns this costs more than the modes, and the result is
  # negligible.
  rounding = () -> if not S.T.dense and n > 5000 { zeros(count) } else {
    products * _rounding_of_modes(matrix_of(a), matrix_of(b), values, real(V))
  }
  nodal = k -> {
    v = real(V[.., k])
    U = zeros(S.N)
    U[E.free] = v / v[argmax(abs(v))]
    if len(stages) == 0 { U } else {
      D = (stages = (...stages,), conditions = (...conditions,), free = E.free)
      _set_conditions(info, S, D, 0.0, U)
    }
  }
  mode = k -> {
    filled = nodal(k)
    filled = if len(sizes) == 0 {
      filled
    } else {
      filled * _mode_size(info, whole, S, sizes[0], filled)
    }
    record((...map(i -> info.fields[i], (...(0..S.count),)),),
      map(i -> _space_field(info, S, filled, i), each(S.count)))
  }
  # A mode with half its size in its highest terms is unresolved, whatever other
  # grids show.
  lost = if not S.T.dense { none } else {
    tail =
      max(map(k -> _primal(() -> { U = nodal(k); _series_tail(info, S, U, expand(U, 0)) }),
        iota(count)))
    if tail > 0.5 { tail } else { 0.0 }
  }
  # On a line the eigenvalue's field is one number, as with other methods;
  # values has all eigenvalues.
  (...mode(0), ...record(list(info.eigen),
    list(if len(info.coords) == 1 { values[0] } else { values })), mode = mode,
    x = S.T.dims[0].x, grid = map(g -> g.x, S.T.dims), times = zeros(0), values = values,
    rounding = rounding, stats = (unknowns = n,), method = m.name, kind = "pde", error = lost,
    info = _info_of(info))
}
# Returns the m.count modes whose eigenvalues w are nearest to m.near.
_nearest_modes(m, modes) = {
  (w, V) = modes
  order = argsort(abs(w - m.near))[..min(m.count, len(w))]
  (w[order], V[.., order])
}
# Returns an order of magnitude of the eigenvalues: the residual of a smooth
# function relative to its derivative with respect to λ.
_unit_of_modes(info, S) = {
  x = zeros(S.T.P)
  for (d, c) in enumerate(list(...info.space)) {
    x = x + (if info.periodic[c] { 2π } else { 1.3 + 0.8 * d }) * (S.T.X[d] - info.lo[c]) /
      (info.hi[c] - info.lo[c])
  }
  U = concat(...map(i -> cos(x + 0.7 * i), each(S.parts)))
  left =
    λ ->
    concat(
      ...map(q -> ravel(_point_residuals(info, S, q, 0.0, S.T.X, _jets_on(info, S, U, none, λ))),
        list(...info.equations)))
  (r, slope) = jvp(left, 0.0, 1.0)
  if max(abs(slope)) == 0 { error("{info.name}: {info.eigen} must stand in an equation") }
  max(abs(r)) / max(abs(slope))
}
# Solves A v == λ B v by the eigenvalues 1/(λ - σ) of (A - σ B)⁻¹ B. The lowest
# eigenvalues then do not suffer from the rounding of the highest, and equations
# without λ yield 0. σ is close to m.near, but not so close to one eigenvalue
# that others lose digits.
_dense_modes(info, m, A, B, unit) = {
  σ = m.near - 0.1 * unit
  (w, V, turn) = (zeros(1) + 0im, zeros(1, 1) + 0im, 0)
  while turn < 4 {
    (μ, U) = eig(linsolve(A - σ * B, B))
    all_ = findall(abs(μ) > 1e-13 * max(abs(μ)))
    (w, V) = _nearest_modes(m, (σ + 1 / μ[all_], U[.., all_]))
    far = stop_gradient(abs(w - σ))
    (least, most) = (min(far), max(far))
    if len(far) == 1 or (least > 1e-3 * most and least < 1e3 * (most - least)) { turn = 4 } else {
      σ = m.near - 0.0371 * max(stop_gradient(abs(w - m.near)))
      turn = turn + 1
    }
  }
  (w, V)
}
# Improves eigenvalues w of A v == λ B v by Rayleigh quotients with left and
# right vectors, whose error is the product of the vectors' errors (Ostrowski
# 1959). eig rounds all 1/(λ - σ) relative to the largest, so large λ lose
# digits.
_rayleigh_quotients(A, B, w, V) = w + _primal(() -> {
  (w, V) = (stop_gradient(w), stop_gradient(V))
  size = _sizes_of_values(w, w)
  out = 0.0 * w
  for k in 0..len(w) {
    M = A - (w[k] + 1e-7 * max(abs(w))) * B
    x = linsolve(M, B @ V[.., k])
    left = _left_vector(A, B, w, k, x)
    change = left @ (A @ x) / (left @ (B @ x)) - w[k]
    out[k] = if abs(change) < 1e-3 * size[k] { change } else { 0.0 }
  }
  out
})
# Returns the left eigenvector of w[k], from the right one by inverse iteration
# (Wilkinson, The Algebraic Eigenvalue Problem, 1965, chapter 2).
_left_vector(A, B, w, k, x) = {
  beside = (A - (w[k] + 1e-7 * max(abs(w))) * B)'
  left = linsolve(beside, x / max(abs(x)))
  linsolve(beside, left / max(abs(left)))
}
# Returns the first-order effect of rounding the matrix elements on the
# eigenvalues.
_rounding_of_modes(A, B, w, V) = _primal(() -> {
  (w, V) = (stop_gradient(w), stop_gradient(V))
  sizes = M -> if kind(M) == "sparse" { (...M, values = abs(M.values)) } else { abs(M) }
  (largeA, largeB) = (sizes(A), sizes(B))
  out = 0.0 * w
  for k in 0..len(w) {
    x = V[.., k]
    left = _left_vector(A, B, w, k, x)
    out[k] = 2.3e-16 * (abs(left) @ (largeA @ abs(x) + abs(w[k]) * (largeB @ abs(x)))) /
      abs(left @ (B @ x))
  }
  out
})
# Refuses first-order equations: central differences cannot see modes that
# alternate from point to point.
_refuse_zigzag_modes(info, m, S) = {
  for k in each(S.count) {
    for (d, c) in enumerate(list(...info.space)) {
      if _order_of(info, k, c) == 1 and _is_highest_alone(info, k) {
        _refuse(
          "{info.name} is of first order in {info.fields[k]}, and differences of {m.name}() have "
          "modes there that alternate from point to point: chebyshev() has "
          "none{if len(info.coords) == 1 {
            ", nor has collocation(), which begins with a guess"
          } else { "" }}")
      }
    }
  }
}
# Whether no derivative of a field has an order above 1.
_is_highest_alone(info, k) = {
  top = 0
  for c in info.space { top = max(top, _order_of(info, k, c)) }
  top == 1
}
