# direct.dsl - problems without time on a tensor grid: Newton's method with the exact sparse Jacobian, and eigenproblems.

_solve_direct(info, m, S, o) = if info.eigen == "" { _solve_newton(info, m, S, o) } else { _solve_modes(info, m, S, o) }

# u with F(u) = 0, found already: its derivatives are those of the equation, by a sparse system with the Jacobian J(u).
_zero_on(F, J, u) = u
derivative _zero_on(F, J, u), dF, dJ, du = -linsolve(J(y), dF(y))

# Newton's method, damped: a step is halved until the residual falls. Done when a step changes nothing to rtol and atol, or the residual is at rounding.
_solve_newton(info, m, S, o) = {
  conditions = _conditions_of(info, S)
  matched = _matched(info, S)
  A = _whole_jacobian(info, S, matched, conditions)
  F = U -> _whole_residual(info, S, matched, conditions, 0.0, U, none)
  J = U -> _as_sparse(A.pattern, A.values(0.0, U, none, 0.0, 0.0))
  (U, turns, last) = _newton_on(v -> stop_gradient(F(v)), v -> (...J(v), values = stop_gradient(J(v).values)), _direct_guess(info, S, o.guess), o, info.name)
  _direct_solution(info, m, S, _zero_on(F, J, U), (newton = turns, unknowns = S.N, elements = len(A.pattern.rows)))
}
_newton_on(F, J, u0, o, name) = {
  u = u0
  v = F(u)
  k = 0
  state = 0
  size = inf
  while state == 0 {
    d = -linsolve(J(u), v)
    if not (max(abs(d)) < inf) { error("{name}: the linear system of Newton's method is singular after {k} turns. The conditions may not determine the solution, or another guess is needed") }
    t = 1.0
    u1 = u + d
    v1 = F(u1)
    while not (norm(v1) < norm(v)) and t > 1e-4 {
      t = 0.5 * t
      u1 = u + t * d
      v1 = F(u1)
    }
    size = max(abs(d) / (o.atol + o.rtol * abs(u1)))
    better = norm(v1) < norm(v)
    # the error behind a full step is about its square: one that is 1e-3 of what is asked for was not needed
    state = if t == 1.0 and size * size * o.rtol < 1e-3 and size < 1e3 { 1 } else if better { 0 } else if size < 1e3 { 1 } else { 2 }
    if better { u = u1; v = v1 }
    k = k + 1
    if k == 60 and state == 0 { state = 2 }
  }
  if state == 2 { error("{name}: Newton's method does not converge: after {k} turns the residual is {norm(v)}; give a guess nearer to the solution: solve(..., guess = (u = ...))") }
  (u, k, size)
}

# Where Newton's method begins: numbers, functions of the space coordinates, or a solution, by field; zero for those not named.
_direct_guess(info, S, guess) = concat(...map(k -> {
  given = if kind(guess) == "none" { 0.0 } else if has(guess, info.fields[k]) { field(guess, info.fields[k]) } else { 0.0 }
  v = if kind(given) == "function" { given(...S.T.X) } else { given }
  if info.sizes[k] == 0 { f64(v) + zeros(S.T.P) } else { ravel(transpose(f64(v) + zeros(S.T.P, info.sizes[k]))) }
}, list(...(0..S.count))))

_direct_solution(info, m, S, U, stats) = {
  functions = map(k -> _space_field(info, S, U, k), list(...(0..S.count)))
  (...record(info.fields, functions), x = S.T.dims[0].x, grid = map(g -> g.x, S.T.dims), times = zeros(0), values = U, stats = stats,
    method = m.name, kind = "pde", error = none, info = _info_of(info))
}
_space_field(info, S, U, k) = {
  coefs = map(c -> _coefficients(S.T, _part(S, U, _first_part(info, S.levels, k, 0) + c)), (...(0.._width(info, k)),))
  (...point) -> {
    if len(point) != len(info.coords) { _refuse("{info.fields[k]} is a function of ({join(info.coords, ", ")})") }
    all = map(c -> _values_at(S.T, c, point), coefs)
    if info.sizes[k] == 0 { all[0] } else { stack(...all; axis = rank(all[0])) }
  }
}

# ---- eigenproblems

# The equations are linear in the fields and in λ: A v = λ B v on the nodes without conditions. Dense where the operators are, else by shift and invert; the
# m.count eigenvalues nearest to m.near, in the order of their distance.
_solve_modes(info, m, S, o) = {
  conditions = _conditions_of(info, S)
  for c in conditions { if not _is_eliminable(info, S, c) { error("{info.name}: the condition `{c.q.text}` of an eigenproblem must be linear, and along the normal only") } }
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
    _summed(p, v[p.from] * p.weight)
  }
  a = at(0.0)
  b = a - at(1.0)
  n = len(E.free)
  on = p.rows == p.columns
  weight = zeros(n)
  weight[p.rows] += where(on, b, 0.0)
  if max(abs(where(on, 0.0, b))) > 1e-12 * max(abs(b)) { error("{info.name}: {info.eigen} must multiply the fields, not their derivatives") }
  if min(abs(weight)) == 0 { error("{info.name}: {info.eigen} must stand in every equation") }
  A = (..._as_sparse(p, a), values = a / weight[p.rows])
  count = m.count
  (w, V) = if S.T.dense {
    (all, vectors) = eig(dense(A))
    order = argsort(abs(all - m.near))[..count]
    (all[order], vectors[.., order])
  } else {
    eigs(A, count; sigma = m.near)
  }
  values = if max(abs(imag(w))) <= 1e-8 * max(abs(w)) { real(w) } else {
    error("{info.name}: there are complex eigenvalues among the {count} nearest to {m.near}: {w}")
  }
  mode = k -> {
    v = real(V[.., k])
    U = zeros(S.N)
    U[E.free] = v / v[argmax(abs(v))]
    filled = if len(stages) == 0 { U } else {
      D = (stages = (...stages,), conditions = (...conditions,), free = E.free)
      _set_conditions(info, S, D, 0.0, U)
    }
    record((...map(i -> info.fields[i], (...(0..S.count),)),), map(i -> _space_field(info, S, filled, i), list(...(0..S.count))))
  }
  (...mode(0), ...record(list(info.eigen), list(values)), mode = mode, x = S.T.dims[0].x, grid = map(g -> g.x, S.T.dims),
    times = zeros(0), values = values, stats = (unknowns = n,), method = m.name, kind = "pde", error = none, info = _info_of(info))
}
