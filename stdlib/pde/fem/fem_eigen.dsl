# fem_eigen.dsl - finite elements for eigenproblems K u = λ M u: assembly by
# fem_assembly.dsl, eigenvalues by eigs.dsl.

_fem_eigen(P, D, m, o) = {
  info = P.info
  _refuse_bent_modes(info, "fem")
  count = _known(if kind(o.count) == "none" { 6 } else { o.count }, "count")
  fixed = _fixed_values(P, D, 0.0)
  fluxes = _fluxes(P, D, 0.0)
  (number, free) = _free_unknowns(D, fixed)
  S = _pattern_of(P, D, fluxes, number, len(free))
  zero = zeros(D.total)
  start = _with_fixed(P, D, fixed, 0.0, zero)
  (R, K) = _assembled(P, D, S, fluxes, 0.0, 0.0, start, zero)
  assert(norm(R) == 0 and norm(start) == 0,
    "fem(): the equations and conditions of the eigenproblem {info.name} must hold for "
    "{info.fields[0]} == 0")
  # Differentiates with respect to λ, since in the difference of two matrices
  # the large entries would cancel λ's digits.
  B = (...K,
    values = -jvp(λ -> _assembled(P, D, S, fluxes, 0.0, λ, start, zero)[1].values, 0.0, 1.0)[1])
  assert(norm(B.values) > 0, "fem(): {info.eigen} multiplies nothing in {info.name}")
  # u'' + λ u == 0 is the same as -u'' == λ u.
  sign = if sum(B @ ones(len(free))) < 0 { -1.0 } else { 1.0 }
  (K, B) = ((...K, values = sign * K.values), (...B, values = sign * B.values))
  assert(_is_symmetric(K) and _is_symmetric(B),
    "fem() serves eigenproblems whose operator is its own adjoint; {info.name} has terms that are "
    "not, as first derivatives are")
  n = len(free)
  assert(n > count,
    "fem(): the mesh of {info.name} has {n} unknowns; a finer one is needed for {count} "
    "eigenvalues")
  below = 1e-3 * stop_gradient(_unit_of_elements(D, K, B, free))
  V = _modes_near(_primal_matrix(K), _primal_matrix(B), count, f64(m.near) - below)
  quotients =
    V -> [sum(V[.., k] * (K @ V[.., k])) / sum(V[.., k] * (B @ V[.., k])) for k in 0..count]
  order = argsort(stop_gradient(quotients(V)))
  V = stop_gradient(V[.., order])
  V = stack(...map(k -> _moving_mode(K, B, V, stop_gradient(quotients(V)), k), each(count));
    axis = 1)
  # Rayleigh quotients, through which the eigenvalues have derivatives.
  λ = quotients(V)
  place = _place_in(D)
  names = map(f -> info.fields[f], each(P.nf))
  functions =
    map(f -> map(k -> _fem_field(P, D, place, _with_free(zero, free, V[.., k]), f), each(count)),
      each(P.nf))
  (...record(list(...names, info.eigen), list(...functions, λ)), mesh = D.mesh, values = V,
    times = zeros(0), stats = (unknowns = n, cells = len(D.cells)), error = none,
    method = "fem", kind = "pde", smooth = _smooth_inside(P),
    info = (fields = names, coords = info.coords, lo = info.lo, hi = info.hi))
}
# Returns an order of magnitude of the eigenvalues: K applied to a smooth
# function that vanishes on the sides of a box, relative to B applied to 1
# (whose entries may be on the boundary only).
_unit_of_elements(D, K, B, free) = {
  (low, wide) = (min(D.X; axis = 0), max(D.X; axis = 0) - min(D.X; axis = 0))
  ξ = (D.X[free] - expand(low, 0)) / expand(wide, 0)
  x = prod(4 * ξ * (1 - ξ); axis = 1)
  one = ones(len(free))
  max(abs(sum(x * (K @ x))), 1e-16 * sum(abs(K.values))) / abs(sum(one * (B @ one)))
}
_with_free(U, free, y) = { U[free] = y; U }
# On a line the eigenvalue is a field, whose equation says that it is constant,
# and an inhomogeneous condition normalises a mode. Both are left out of the
# eigenproblem (_solve_modes).
_fem_line_modes(info, m, o) = {
  (own, sizes) = _conditions_of_modes(info, m.name)
  n = len(info.fields) - 1
  s =
    _solve_weak((...info, equations = (...map(i -> info.equations[i], each(n)),), conditions = own),
      m, o)
  names = (...map(i -> info.fields[i], each(n)),)
  mode = k -> {
    own = map(f -> field(s, f)[k], names)
    size = if len(sizes) == 0 { 1.0 } else { _line_mode_size(info, sizes[0], own) }
    record(names, map(u -> x -> size * u(x), own))
  }
  λ = field(s, info.eigen)
  (...s, ...mode(0), ...record(list(info.eigen), list(λ[0])), mode = mode, values = λ)
}
# Returns the factor with which the functions of a mode satisfy a condition at
# an end that is linear in it.
_line_mode_size(info, q, own) = {
  x = if q.at.side == 1 { info.hi[0] + 0.0 } else { info.lo[0] + 0.0 }
  told = _residual_dependence(info, q).depends
  jets = (...map(i -> {
    j = info.jets[i]
    if not told[1 + i] {
      0.0
    } else if j[1] == 0 {
      own[j[0]](x)
    } else if j[1] == 1 {
      jvp(own[j[0]], x, 1.0)[1]
    } else {
      _refuse(
        "fem() does not know {info.fields[j[0]]} by its derivative of order {j[1]}, as `{q.text}` "
        "asks for")
    }
  }, each(len(info.jets))),)
  rest = sum(q.residual((x,), _zero_jets(info)))
  -rest / (sum(q.residual((x,), jets)) - rest)
}
# Returns mode k of K u = λ B u, which is already computed as column k of V. Its
# derivatives follow from its equations, of which it is a root. The matrix is
# bordered with the modes of the same eigenvalue, which makes it regular. Along
# these modes, whose sums are modes too, the derivative is zero.
_moving_mode(K, B, V, λ, k) = {
  (n, count) = (len(V), len(λ))
  same = f64(abs(λ - λ[k]) <= 1e-7 * max(abs(λ)))
  C = map(j -> same[j] * stop_gradient(B @ V[.., j]), each(count))
  border = concat(...C)
  F = z -> {
    u = z[..n]
    w = B @ u
    R = K @ u - sum(u * (K @ u)) / sum(u * w) * w
    for j in each(count) { R = R + z[n + j] * C[j] }
    sides = map(j -> (if j == k { 0.5 * sum(u * w) - 0.5 } else { sum(C[j] * u) }) +
      (1 - same[j]) * z[n + j],
      each(count))
    concat(R, stack(...sides))
  }
  J = z -> {
    (inner, outer_) =
      (repeat(iota(count), 0 * iota(count) + n), concat(...map(j -> iota(n), each(count))))
    u = z[..n]
    mean_ = sum(u * (K @ u)) / sum(u * (B @ u))
    own = concat(...map(j -> if j == k { B @ u } else { C[j] }, each(count)))
    sparse(concat(K.rows, outer_, n + inner, n + iota(count)),
      concat(K.columns, n + inner, outer_, n + iota(count)),
      concat(K.values - mean_ * B.values, border, own, 1 - same), n + count, n + count)
  }
  z = concat(V[.., k], zeros(count))
  _zero_on(F, J, z)[..n]
}
_is_symmetric(A) = norm(A.values - _sparse_adjoint(A).values) <= 1e-10 * norm(A.values)

# Returns the eigenvectors of the eigenvalues nearest to sigma as columns, with
# B-norm 1.
_modes_near(K, B, count, sigma) = {
  (w, V) = _hermitian_pairs("fem()", "near", K, B, count, 0, sigma, 1)
  # makes the signs independent of the iteration
  V * expand(where(sum(B @ V; axis = 0) < 0, -1.0, 1.0), 0)
}
_primal_matrix(A) = (...A, values = stop_gradient(A.values))
