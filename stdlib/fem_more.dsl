# fem_more.dsl - finite elements for eigenproblems and for problems in t: what fem.dsl assembles, given to an iteration or an integrator.

# ---- eigenproblems: K u = λ M u

_fem_eigen(P, D, m, o) = {
  info = P.info
  count = _known(if kind(o.count) == "none" { 6 } else { o.count }, "count")
  fixed = _fixed_values(P, D, 0.0)
  fluxes = _fluxes(P, D, 0.0)
  (number, free) = _free_unknowns(D, fixed)
  S = _pattern_of(P, D, number, len(free))
  zero = zeros(D.total)
  start = _with_fixed(P, D, fixed, 0.0, zero)
  at = λ -> _assembled(P, D, S, fluxes, 0.0, λ, start, zero)
  (R, K) = at(0.0)
  (_, one) = at(1.0)
  (_, two) = at(2.0)
  assert(norm(R) == 0 and norm(start) == 0,
    "fem(): the equations and conditions of the eigenproblem {info.name} must hold for {info.fields[0]} == 0")
  B = (...K, values = K.values - one.values)
  assert(norm(one.values - two.values - B.values) <= 1e-9 * norm(B.values) and norm(B.values) > 0,
    "fem(): {info.eigen} must enter {info.name} linearly")
  assert(_is_symmetric(K) and _is_symmetric(B),
    "fem() serves eigenproblems whose operator is its own adjoint; {info.name} has terms that are not, as first derivatives are")
  n = len(free)
  assert(n > count, "fem(): the mesh of {info.name} has {n} unknowns; a finer one is needed for {count} eigenvalues")
  width = max(D.width)
  (V, turns) =
    _subspace(stop_gradient(K.values), stop_gradient(B.values), K, count, f64(m.near) - 0.01 / width^2, min(n, 2 * count + 8))
  # by which the eigenvalues have derivatives
  λ = [sum(V[.., k] * (K @ V[.., k])) / sum(V[.., k] * (B @ V[.., k])) for k in 0..count]
  order = argsort(stop_gradient(λ))
  λ = λ[order]
  V = V[.., order]
  place = _locator(D.corners, _slack(D.mesh))
  names = map(f -> info.fields[f], list(...(0..P.nf)))
  functions = map(f -> map(k -> _fem_field(P, D, place, _spread(zero, free, V[.., k]), f), list(...(0..count))),
    list(...(0..P.nf)))
  (...record(list(...names, info.eigen), list(...functions, λ)), mesh = D.mesh, values = V, times = zeros(0),
    stats = (unknowns = n, cells = len(D.cells), turns = turns), error = none, method = "fem", kind = "pde",
    info = (fields = names, coords = info.coords, lo = info.lo, hi = info.hi))
}
_spread(U, free, y) = { U[free] = y; U }
_is_symmetric(A) = norm(A.values - _sparse_adjoint(A).values) <= 1e-10 * norm(A.values)

# The vectors that belong to the eigenvalues nearest to sigma, columns, of length 1 in B: subspace iteration with (K - sigma B)^-1 B (Bathe 1971)
_subspace(k, b, pattern, count, sigma, width) = {
  n = len(pattern.row_start) - 1
  (K, B) = ((...pattern, values = k), (...pattern, values = b))
  A = (...pattern, values = k - sigma * b)
  X = sin(expand(iota(n) + 1.0, 1) * (1.0 + 0.7 * sqrt(iota(width) + 2.0)))
  BX = B @ X
  old = zeros(width) + inf
  turns = 0
  done = false
  while not done and turns < 200 {
    # A Y = B X, so that one product with a matrix is enough
    Y = linsolve(A, BX)
    BY = B @ Y
    G = Y' @ BY
    s = 1 / sqrt(diag(G))
    L = cholesky(0.5 * (G + G') * outer(s, s) + 1e-14 * eye(width))
    C = (Y' @ BX) * outer(s, s)
    T = linsolve(L, linsolve(L, 0.5 * (C + C'))')
    (w, Q) = eigh(0.5 * (T + T'))
    order = argsort(abs(w))
    R = expand(s, 1) * linsolve(L', Q[.., order])
    X = Y @ R
    BX = BY @ R
    w = w[order]
    done = max(abs(w[..count] - old[..count])) <= 1e-13 * max(abs(w[..count]))
    old = w
    turns = turns + 1
  }
  assert(done,
    "fem(): the eigenvalues did not settle in {turns} turns; ask for fewer, or for those near a number: fem(near = ...)")
  (X, BX) = (X[.., ..count], BX[.., ..count])
  X = X / expand(sqrt(sum(X * BX; axis = 0)), 0)
  # signs that do not depend on where the iteration ended
  s = sum(BX; axis = 0)
  (X * expand(where(s < 0, -1.0, 1.0), 0), turns)
}

# ---- problems in t: R(t, U, U') == 0

_fem_lines(P, D, m, o) = {
  info = P.info
  (t0, t1) = if kind(o.t) == "none" { (f64(info.lo[info.time]), f64(info.hi[info.time])) } else { (f64(o.t[0]), f64(o.t[1])) }
  fixed = _fixed_values(P, D, t0)
  fluxes = _fluxes(P, D, t0)
  (number, free) = _free_unknowns(D, fixed)
  S = _pattern_of(P, D, number, len(free))
  zero = zeros(D.total)
  on = t -> _with_fixed(P, D, fixed, t, zero)
  whole = (t, y) -> _spread(on(t), free, y)
  rates = (t, yp) -> _spread(jvp(on, t, 1.0)[1], free, yp)
  rated = map(f -> _has_rate(info, f), list(...(0..P.nf)))
  id = concat(...map(f -> concat(...map(c -> full(if rated[f] { 1.0 } else { 0.0 }, D.counts[c]),
    list(...(P.first[f]..P.first[f] + max(1, info.sizes[f]))))), list(...(0..P.nf))))[free]
  y0 = _start_values(P, D, t0)[free]
  F = (t, y, yp) -> _assembled(P, D, S, fluxes, t, 0.0, whole(t, y), rates(t, yp))[0][free]
  jac = (t, y, yp, c) -> {
    (U, V) = (whole(t, y), rates(t, yp))
    (_, A) = _assembled(P, D, S, fluxes, t, 0.0, U, V)
    M = map((p, u, v) -> _cell_mass(P, D, t, p, u, v), D.corners, U[D.dofs], V[D.dofs])
    A.values + c * _matrix_on(S, M).values
  }
  place = _locator(D.corners, _slack(D.mesh))
  names = map(f -> info.fields[f], list(...(0..P.nf)))
  held = false
  for f in list(...(0..P.nf)) { if _is_multiplier(info, P.eqs, f, P.nf) { held = true } }
  (times, Y, state, stats) = if held {
    # of index 2 for an integrator: constraints, and a pressure that keeps them
    all = concat(...map(f -> concat(...map(c -> full(if rated[f] { 1.0 } else { 0.0 }, D.counts[c]),
      list(...(P.first[f]..P.first[f] + max(1, info.sizes[f]))))), list(...(0..P.nf))))
    forms = (t, U, V) -> { (R, A) = _assembled(P, D, S, fluxes, t, 0.0, U, V); (R[free], A) }
    mass = (t, U, V) -> _matrix_on(S, map((p, u, v) -> _cell_mass(P, D, t, p, u, v), D.corners, U[D.dofs], V[D.dofs])).values
    (times, Y, Z, counts) = _by_stages(P, forms, mass, on, free, all, _spread(on(t0), free, y0), t0, t1, o)
    at = t -> _between_steps(times, Y, Z, all, t)
    if len(o.saveat) == 0 { (times, Y, at, counts) } else { (f64(o.saveat), map(at, f64(o.saveat)), at, counts) }
  } else {
    r = _host("dae", ((F, (t0, y0, y0)), (jac, (t0, y0, y0, 1.0))),
              (y0, zeros_like(y0), id, t0, t1, f64(o.rtol), _atol_for(y0, f64(o.atol)), S.column_start, S.rows, f64(o.saveat),
                0.0),
      (1, 5, m.max_steps, 1, "", ""))
    inner = _dense(r[0], r[1], 5, len(o.saveat) == 0)
    (r[0], map(k -> whole(r[0][k], r[1][k]), iota(len(r[0]))), (t) -> whole(t, inner(t)), _stats(r[2]))
  }
  functions = map(f -> _fem_moving(P, D, place, state, f), list(...(0..P.nf)))
  (...record(names, functions), mesh = D.mesh, values = Y, times = times,
    stats = (...stats, unknowns = len(free), cells = len(D.cells)), error = none, method = "fem", kind = "pde",
    info = (fields = names, coords = info.coords, lo = info.lo, hi = info.hi))
}

# R(t, U, U') == 0 by three implicit stages, of order 3, stiffly accurate, with an estimate of order 2 (Alexander 1977). Fields without a rate, rated 0, are unknowns of each stage
# themselves; what is fixed moves as it is said to. Gives times, values and rates at the ends of steps.
_by_stages(P, forms, mass, on, free, rated, U, t0, t1, o) = {
  γ = 0.435866521508459
  a = [γ, 0, 0; 0.5 * (1 - γ), γ, 0; -1.5γ^2 + 4γ - 0.25, 1.5γ^2 - 5γ + 1.25, γ]
  c = [γ, 0.5 * (1 + γ), 1]
  lower = (0.5 - γ) / (0.5 * (1 - γ))
  weight = U -> f64(o.atol) + f64(o.rtol) * abs(U)
  of_free = rated[free]
  step = (t, U, h, guess) -> {
    K = zeros(3, len(U))
    good = true
    W = U
    V = guess
    for i in 0..3 {
      s = t + c[i] * h
      base = U + h * (a[i] @ K) - h * γ * K[i]
      fixed = on(s)
      (_, moving) = jvp(on, s, 1.0)
      V[free] = (guess * rated)[free]
      z = moving
      z[free] = V[free]
      V = z
      W = fixed
      W[free] = where(of_free > 0, (base + h * γ * V)[free], W[free])
      last = guess
      W[free] = where(of_free > 0, W[free], (U * (1 - rated))[free])
      turn = 0
      done = false
      while not done and good and turn < 10 {
        (R, A) = forms(s, W, V)
        J = (...A, values = A.values * where(of_free > 0, h * γ, 1.0)[A.columns] + mass(s, W, V))
        d = -linsolve(J, R)
        V[free] += of_free * d
        W[free] += where(of_free > 0, h * γ, 1.0) * d
        size_ = sqrt(mean((where(of_free > 0, h, 0.0) * d / weight(W)[free])^2))
        done = size_ < 1e-2
        good = size_ < 1e8
        turn = turn + 1
      }
      good = good and done
      K[i] = V
    }
    e = rated * (W - U - h * ((1 - lower) * K[0] + lower * K[1]))
    (W, K[2], sqrt(sum((e / weight(W))^2) / max(1.0, sum(rated))), good)
  }
  t = t0
  h = 1e-3 * (t1 - t0)
  V = 0 * U
  times = concat([t0], zeros(0))
  Y = expand(U, 0)
  Z = expand(V, 0)
  (steps, failed) = (0, 0)
  while t < t1 and steps + failed < 20000 {
    h = min(h, t1 - t)
    if t1 - t - h < 1e-3 * h { h = t1 - t }
    (W, K, e, good) = step(t, U, h, V)
    if good and e <= 1 {
      t = if t + h >= t1 - 1e-12 * (t1 - t0) { t1 } else { t + h }
      U = W
      V = K
      # the first rates are those of the first step
      if steps == 0 { Z = expand(K, 0) }
      times = concat(times, expand(t, 0))
      Y = concat(Y, expand(U, 0); axis = 0)
      Z = concat(Z, expand(V, 0); axis = 0)
      steps = steps + 1
      h = h * clamp(0.9 * max(e, 1e-8)^(-1.0 / 3), 0.3, 4.0)
    } else {
      failed = failed + 1
      h = h * (if good { clamp(0.9 * e^(-1.0 / 3), 0.1, 0.7) } else { 0.25 })
    }
    if h < 1e-13 * (t1 - t0) { error("fem(): no solution of {P.info.name} beyond t = {t}: steps became too short") }
  }
  if t < t1 { error("fem(): 20000 steps were not enough for {P.info.name}; t = {t} was reached") }
  (times, Y, Z, (steps = steps, error_test_failures = failed))
}
# Between two steps: of what has a rate the cubic, of what has none the line
_between_steps(times, Y, Z, rated, t) = {
  k = clamp(searchsorted(times, stop_gradient(t)) - 1, 0, len(times) - 2)
  h = times[k + 1] - times[k]
  s = (t - times[k]) / h
  line = (1 - s) * Y[k] + s * Y[k + 1]
  slope = Y[k + 1] - Y[k]
  line + rated * s * (1 - s) * ((1 - s) * (h * Z[k] - slope) - s * (h * Z[k + 1] - slope))
}
_has_rate(info, f) = {
  found = false
  for j in info.jets { if j[0] == f and j[1 + info.time] > 0 { found = true } }
  found
}
_start_values(P, D, t0) = {
  U = zeros(D.total)
  for c in P.info.conditions {
    if _at_start(P, c) {
      f = _condition_field(P, c, 0)
      c0 = P.first[f]
      m = max(1, P.info.sizes[f])
      X = D.X[D.starts[c0]..D.starts[c0] + D.counts[c0]]
      zero = zeros(P.nc, 1 + P.d)
      n = zeros(P.d)
      slope =
        stop_gradient(
          jacobian(u -> _condition_at(P, c, t0, X[0], concat(expand(u, 1), zeros(P.nc, P.d); axis = 1), n))(zeros(P.nc) + 0.5))
      values = map(x -> -_condition_at(P, c, t0, x, zero, n), X)
      for i in list(...(0..m)) { U[D.starts[c0 + i]..D.starts[c0 + i] + D.counts[c0]] = values[.., i] / slope[i, c0 + i] }
    }
  }
  U
}
# A field as a function of all coordinates, in their order; t a number, or an array beside numbers or arrays of its shape
_fem_moving(P, D, place, state, f) = {
  at = xs -> {
    t = f64(xs[P.info.time])
    space = (...map(a -> xs[a], list(...P.info.space)),)
    if rank(t) == 0 { _field_at(P, D, place, state(t), f, space) } else {
      zero = 0.0
      for x in xs { zero = zero + 0.0 * x }
      points = (...map(x -> ravel(zero + x), list(...space)),)
      out = map((t, x) -> _field_at(P, D, place, state(t), f, (...map(k -> x[k], list(...(0..P.d))),)), ravel(zero + t),
        stack(...points; axis = 1))
      if P.info.sizes[f] == 0 { reshape(out, ...shape(zero)) } else { reshape(out, ...shape(zero), P.info.sizes[f]) }
    }
  }
  if P.d == 1 { (a, b) -> at((a, b)) } else if P.d == 2 { (a, b, c) -> at((a, b, c)) } else { (a, b, c, e) -> at((a, b, c, e)) }
}
