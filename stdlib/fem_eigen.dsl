# fem_eigen.dsl - finite elements for eigenproblems K u = λ M u: what fem.dsl assembles, given to an iteration of subspaces.

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
  place = _place_in(D)
  names = map(f -> info.fields[f], list(...(0..P.nf)))
  functions = map(f -> map(k -> _fem_field(P, D, place, _with_free(zero, free, V[.., k]), f), list(...(0..count))),
    list(...(0..P.nf)))
  (...record(list(...names, info.eigen), list(...functions, λ)), mesh = D.mesh, values = V, times = zeros(0),
    stats = (unknowns = n, cells = len(D.cells), turns = turns), error = none, method = "fem", kind = "pde",
    info = (fields = names, coords = info.coords, lo = info.lo, hi = info.hi))
}
_with_free(U, free, y) = { U[free] = y; U }
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
