# iterative.dsl - Krylov methods for linear systems, and preconditioners.
#
# Contract:
# - A is a matrix, a sparse matrix, or a function x -> A x. Only products with A
#   are needed.
# - A solver stops when |b - A x| <= tol |b|, according to its recurrence. It is
#   an error when `steps` products do not suffice.
# - A preconditioner is a function r -> an approximate solution, or a record of
#   such functions, apply and adjoint, as returned by jacobi_preconditioner,
#   ilu0 and ichol0.
# - Derivatives of every order with respect to b and everything A depends on
#   cost one solve each. A gradient needs one with the adjoint matrix; for a
#   function its transpose is derived.
# - With report = true the result is a record: x, residual (|b - A x| / |b|),
#   iterations.

# cg(A, b; tol = 1e-10, steps, preconditioner, report): x with A x = b by
# conjugate gradients, for symmetric (Hermitian) positive definite A.
#   steps: by default 10 times the number of unknowns. The preconditioner is
#   symmetric positive definite, too. [Hestenes and Stiefel 1952]
#     cg([4.0, 1; 1, 3], [1.0, 2])  #~ [1, 7] / 11
#     cg(x -> 2x, [2.0, 4])         #~ [1, 2]
cg(A, b; tol = 1e-10, steps = none, preconditioner = none, report = false) =
  _krylov("cg", _cg, A, b, tol, steps, preconditioner, 0, true, report)
# minres(A, b; tol = 1e-10, steps, preconditioner, report): x with A x = b by
# the minimal residual method, for symmetric (Hermitian) A, also indefinite.
#   The preconditioner is symmetric positive definite; residuals are measured in
#   its norm. [Paige and Saunders, SIAM J. Numer. Anal. 12, 1975]
#     minres([1.0, 2; 2, 1], [3.0, 3])        #~ [1, 1]
minres(A, b; tol = 1e-10, steps = none, preconditioner = none, report = false) =
  _krylov("minres", _minres, A, b, tol, steps, preconditioner, 0, true, report)
# gmres(A, b; restart = 30, tol = 1e-10, steps, preconditioner, report): x with
# A x = b by the generalised minimal residual method, for any A. It restarts
# after `restart` products.
#   [Saad and Schultz, SIAM J. Sci. Stat. Comput. 7, 1986; right
#   preconditioning]
#     gmres([1.0, 2; -3, 1], [3.0, -2])       #~ [1, 1]
gmres(A, b; restart = 30, tol = 1e-10, steps = none, preconditioner = none, report = false) =
  _krylov("gmres", _gmres, A, b, tol, steps, preconditioner, restart, false, report)
# bicgstab(A, b; tol = 1e-10, steps, preconditioner, report): x with A x = b by
# the stabilised biconjugate gradient method, for any A. It stores eight
# vectors.
#   [van der Vorst, SIAM J. Sci. Stat. Comput. 13, 1992; right preconditioning]
#     bicgstab([1.0, 2; -3, 4], [3.0, 1])     #~ [1, 1]
bicgstab(A, b; tol = 1e-10, steps = none, preconditioner = none, report = false) =
  _krylov("bicgstab", _bicgstab, A, b, tol, steps, preconditioner, 0, false, report)

_krylov(name, run, A, b, tol, steps, preconditioner, restart, symmetric, report) = {
  if kind(A) != "function" and kind(A) != "sparse" { _want_matrix(name, A) }
  f = if kind(A) == "function" { _as_long(A) } else { _as_long(x -> A @ x) }
  back = if symmetric {
    f
  } else if kind(A) == "function" {
    w -> vjp(f, 0 * w)[1](w)
  } else {
    _as_long(w -> A' @ w)
  }
  M = if kind(preconditioner) == "none" {
    r -> r
  } else if kind(preconditioner) == "record" {
    _as_long(preconditioner.apply)
  } else {
    _as_long(preconditioner)
  }
  Mback = if symmetric { M } else if kind(preconditioner) == "none" { r -> r }
  else if kind(preconditioner) == "record" { _as_long(preconditioner.adjoint) }
  else { w -> vjp(M, 0 * w)[1](w) }
  o = (name = name, run = run, tol = tol,
    steps = if kind(steps) == "none" {
      10 * len(b) + 20
    } else {
      steps
    }, restart = max(1, min(restart, len(b))))
  r = _solved_by(f, back, b + 0.0, M, Mback, o)
  if report {
    (x = r.x, residual = stop_gradient(norm(b - f(r.x)) / max(norm(b), 1e-300)),
      iterations = r.iterations)
  } else {
    r.x
  }
}
# f with the extent of its result fixed to that of its argument, so that loops
# know the extents of the values they carry.
_as_long(f) = x -> f(x)[iota(len(x))]
derivative _solved_by(f, back, b, M, Mback, o), df, dback, db, dM, dMback, do = {
  change = (if _absent(db) { 0 * y.x } else { db }) - (if _absent(df) { 0 * y.x } else { df(y.x) })
  dx = linear_map(r -> _solved_by(f, back, r, M, Mback, o).x,
    r -> _solved_by(back, f, r, Mback, M, o).x, change)
  (x = dx, iterations = y.iterations)
}
_solved_by(f, back, b, M, Mback, o) = {
  (x, k, rest) = o.run(f, b, M, o)
  if not (rest <= o.tol * norm(b)) {
    error(
      "{o.name}: |b - A x| is {rest:.1e} after {k} steps, not {o.tol * norm(b):.1e}; is the matrix "
      "what the method asks for?")
  }
  (x = x, iterations = k)
}
_inner(a, b) = sum(conj(a) * b)

_cg(f, b, M, o) = {
  enough = o.tol * norm(b)
  (x, k, r, good) = _conjugate(f, b, M, o.steps, (r, rho, first) -> not (norm(r) > enough))
  if not good { error("cg: the matrix is not positive definite") }
  (x, k, norm(r))
}
# Conjugate gradients from the initial guess 0. It stops when over(residual r,
# r'M r, the initial r'M r) holds, after `steps` products, or at a curvature
# that is not positive. Returns x, the number of products, the residual, and
# whether all curvatures were positive.
_conjugate(f, b, M, steps, over) = {
  x = 0 * b
  r = b
  p = M(r)
  rho = real(_inner(r, p))
  (k, first, good) = (0, rho, true)
  while good and k < steps and not over(r, rho, first) {
    q = f(p)
    bend = real(_inner(p, q))
    good = bend > 0
    if good {
      a = rho / bend
      x = x + a * p
      r = r - a * q
      z = M(r)
      next = real(_inner(r, z))
      p = z + (next / rho) * p
      rho = next
      k = k + 1
    }
  }
  (x, k, r, good)
}

# Lanczos tridiagonalisation, with its QR factorisation row by row.
_minres(f, b, M, o) = {
  x = 0 * b
  y = M(b)
  beta1 = sqrt(real(_inner(b, y)))
  if not (beta1 < inf) {
    error("minres: the preconditioner is not positive definite, or the right-hand side not finite")
  }
  (r1, r2) = (b, b)
  (w, w2) = (0 * b, 0 * b)
  (beta, oldbeta, dbar, eps, phibar, c, s) = (beta1, 1.0, 0.0, 0.0, beta1, -1.0, 0.0)
  k = 0
  while phibar > o.tol * beta1 and k < o.steps and beta > 0 {
    v = y / beta
    y = f(v)
    if k > 0 { y = y - (beta / oldbeta) * r1 }
    alpha = real(_inner(v, y))
    y = y - (alpha / beta) * r2
    r1 = r2
    r2 = y
    y = M(r2)
    oldbeta = beta
    beta = sqrt(max(real(_inner(r2, y)), 0.0))
    oldeps = eps
    delta = c * dbar + s * alpha
    gbar = s * dbar - c * alpha
    eps = s * beta
    dbar = -c * beta
    gamma = max(sqrt(gbar^2 + beta^2), 1e-300)
    c = gbar / gamma
    s = beta / gamma
    phi = c * phibar
    phibar = s * phibar
    w1 = w2
    w2 = w
    w = (v - oldeps * w1 - delta * w2) / gamma
    x = x + phi * w
    k = k + 1
  }
  # The recurrence measures the residual in the preconditioner's norm: phibar.
  # For a singular matrix this is meaningless, and the true residual decides.
  rest = b - f(x)
  (x, k, if sqrt(max(real(_inner(rest, M(rest))), 0.0)) <=
    10 * o.tol * beta1 { 0.0 } else { norm(rest) })
}

_gmres(f, b, M, o) = {
  m = o.restart
  n = len(b)
  x = 0 * b
  r = b
  rest = norm(b)
  enough = o.tol * rest
  zero = 0 * sum(b[..0])
  k = 0
  while rest > enough and k < o.steps {
    V = zeros(m + 1, n) + zero
    H = zeros(m + 1, m) + zero
    c = zeros(m) + zero
    s = zeros(m)
    g = zeros(m + 1) + zero
    V[0] = r / rest
    g[0] = rest + zero
    j = 0
    while j < m and rest > enough and k < o.steps {
      w = f(M(V[j]))
      # orthogonalise; a second pass restores full accuracy
      h = conj(V) @ w
      w = w - h @ V
      again = conj(V) @ w
      w = w - again @ V
      h = h + again
      next = norm(w)
      for i in 0..j {
        t = conj(c[i]) * h[i] + s[i] * h[i + 1]
        h[i + 1] = c[i] * h[i + 1] - s[i] * h[i]
        h[i] = t
      }
      length = sqrt(abs(h[j])^2 + next^2)
      if not (length > 0) { error("gmres: the matrix is singular") }
      c[j] = h[j] / length
      s[j] = next / length
      h[j] = length + zero
      H[.., j] = h
      g[j + 1] = -s[j] * g[j]
      g[j] = conj(c[j]) * g[j]
      rest = abs(g[j + 1])
      j = j + 1
      V[j] = if next > 0 { w / next } else { 0 * w }
      k = k + 1
    }
    # back substitution with the triangular factor
    a = zeros(m) + zero
    for i in 0..j {
      q = j - 1 - i
      a[q] = (g[q] - H[q, ..m] @ a) / H[q, q]
    }
    x = x + M(a @ V[..m])
    r = b - f(x)
    rest = norm(r)
    if not (rest < inf) { error("gmres: the matrix is singular, or not finite") }
  }
  (x, k, rest)
}

_bicgstab(f, b, M, o) = {
  x = 0 * b
  r = b
  shadow = r
  (rho, alpha, omega) = (1.0 + 0 * sum(b[..0]), 1.0 + 0 * sum(b[..0]), 1.0 + 0 * sum(b[..0]))
  (v, p) = (0 * b, 0 * b)
  enough = o.tol * norm(b)
  k = 0
  while norm(r) > enough and k < o.steps {
    next = _inner(shadow, r)
    # nearly orthogonal to the shadow residual: restart
    stale = abs(next) <= 1e-14 * norm(shadow) * norm(r)
    if stale { shadow = r; next = _inner(r, r) + 0 * next; p = 0 * p; v = 0 * v }
    beta = (next / rho) * (alpha / omega)
    p = if stale { r } else { r + beta * (p - omega * v) }
    rho = next
    u = M(p)
    v = f(u)
    alpha = rho / _inner(shadow, v)
    s = r - alpha * v
    z = M(s)
    t = f(z)
    tt = real(_inner(t, t))
    omega = if tt > 0 { _inner(t, s) / tt } else { 0 * alpha }
    x = x + alpha * u + omega * z
    r = s - omega * t
    if not (norm(r) < inf) {
      error("bicgstab: the method breaks down after {k} steps; gmres does not")
    }
    if tt == 0 { omega = 1 + 0 * omega }
    k = k + 1
  }
  (x, k, norm(b - f(x)) * (if norm(r) <= enough { 0.0 } else { 1.0 }))
}

# ---- preconditioners

# jacobi_preconditioner(A): division by the diagonal of a dense or sparse
# matrix. A 0 on the diagonal is an error.
#     cg([4.0, 1; 1, 3], [1.0, 2]; preconditioner = jacobi_preconditioner([4.0, 1; 1, 3]))      #~ [1, 7] / 11
jacobi_preconditioner(A) = {
  d = stop_gradient(diagonal(A))
  assert(all(d != 0), "jacobi_preconditioner: there is a 0 on the diagonal")
  (apply = r -> r / d, adjoint = r -> r / conj(d))
}
# ilu0(A): incomplete LU factorisation without fill-in, ILU(0), of a sparse
# matrix, as a preconditioner. Every diagonal element must be stored.
#   It is exact when LU has no fill-in. It has no derivatives: a preconditioner
#   does not change the solution. [Saad, Iterative Methods for Sparse Linear
#   Systems, 2003, section 10.3]
#     A = spdiags((4.0, -1.0, -2.0), (0, 1, -1), 50);
#     gmres(A, ones(50); preconditioner = ilu0(A), report = true).iterations      #> 1
ilu0(A) = {
  _want_stored("ilu0", A)
  (starts, rows, diagonal, V) = _ilu0(A.column_start, A.rows, stop_gradient(A.values))
  (apply = r -> _upper_solve(starts, rows, diagonal, V,
    _lower_solve(starts, rows, diagonal, V, r, true)),
    adjoint = r -> _lower_adjoint(starts, rows, diagonal, V,
      _upper_adjoint(starts, rows, diagonal, V, r), true))
}
# ichol0(A): incomplete Cholesky factorisation without fill-in, IC(0), of a
# symmetric positive definite sparse matrix, as a preconditioner. A holds its
# lower triangle or the whole matrix.
#   A pivot that is not positive is an error. [Meijerink and van der Vorst,
#   Math. Comp. 31, 1977]
#     A = spdiags((2.0, -1.0, -1.0), (0, 1, -1), 50);
#     cg(A, ones(50); preconditioner = ichol0(A), report = true).iterations      #> 1
ichol0(A) = {
  _want_stored("ichol0", A)
  (starts, rows, diagonal, V) = _ichol0(A.column_start, A.rows, stop_gradient(A.values))
  solve = r -> _lower_adjoint(starts, rows, diagonal, V,
    _lower_solve(starts, rows, diagonal, V, r, false), false)
  (apply = solve, adjoint = solve)
}
# Left-looking, column by column; w holds the position of each element of the
# column. Returns starts, rows, the position of each diagonal element, values.
_ilu0(starts, rows, values) = {
  n = len(starts) - 1
  V = values + 0.0
  place = i64(zeros(n)) - 1
  diagonal = i64(zeros(n))
  for j in 0..n {
    d = -1
    for p in starts[j]..starts[j + 1] {
      place[rows[p]] = p
      if rows[p] == j { d = p }
    }
    if d < 0 { error("ilu0: the diagonal element {j} is not stored") }
    for p in starts[j]..d {
      k = rows[p]
      u = V[p]
      for q in diagonal[k] + 1..starts[k + 1] {
        at = place[rows[q]]
        if at >= 0 { V[at] -= V[q] * u }
      }
    }
    pivot = V[d]
    if pivot == 0 { error("ilu0: the pivot {j} vanishes") }
    for p in d + 1..starts[j + 1] { V[p] = V[p] / pivot }
    diagonal[j] = d
    for p in starts[j]..starts[j + 1] { place[rows[p]] = -1 }
  }
  (starts, rows, diagonal, V)
}
# Right-looking, column by column, on the lower triangle.
_ichol0(starts, rows, values) = {
  n = len(starts) - 1
  V = values + 0.0
  place = i64(zeros(n)) - 1
  diagonal = i64(zeros(n)) - 1
  for j in 0..n { for p in starts[j]..starts[j + 1] { if rows[p] == j { diagonal[j] = p } } }
  if min(diagonal) < 0 { error("ichol0: an element of the diagonal is not stored") }
  for j in 0..n {
    d = diagonal[j]
    if not (real(V[d]) > 0) {
      error("ichol0: the pivot {j} is not positive; a larger diagonal, A + s speye(n), may help")
    }
    pivot = sqrt(V[d])
    V[d] = pivot
    for p in d + 1..starts[j + 1] { V[p] = V[p] / pivot }
    for p in d + 1..starts[j + 1] {
      k = rows[p]
      for q in diagonal[k]..starts[k + 1] { place[rows[q]] = q }
      for q in p..starts[j + 1] {
        at = place[rows[q]]
        if at >= 0 { V[at] -= V[q] * conj(V[p]) }
      }
      for q in diagonal[k]..starts[k + 1] { place[rows[q]] = -1 }
    }
  }
  (starts, rows, diagonal, V)
}
# Solves with the lower triangle; with `unit` its diagonal is 1.
_lower_solve(starts, rows, diagonal, V, r, unit) = {
  x = r + 0 * V[0]
  for j in 0..len(x) {
    if not unit { x[j] = x[j] / V[diagonal[j]] }
    t = x[j]
    for p in diagonal[j] + 1..starts[j + 1] { x[rows[p]] -= V[p] * t }
  }
  x
}
_lower_adjoint(starts, rows, diagonal, V, r, unit) = {
  x = r + 0 * V[0]
  n = len(x)
  for i in 0..n {
    j = n - 1 - i
    t = x[j]
    for p in diagonal[j] + 1..starts[j + 1] { t = t - conj(V[p]) * x[rows[p]] }
    x[j] = if unit { t } else { t / conj(V[diagonal[j]]) }
  }
  x
}
_upper_solve(starts, rows, diagonal, V, r) = {
  x = r + 0 * V[0]
  n = len(x)
  for i in 0..n {
    j = n - 1 - i
    t = x[j] / V[diagonal[j]]
    x[j] = t
    for p in starts[j]..diagonal[j] { x[rows[p]] -= V[p] * t }
  }
  x
}
_upper_adjoint(starts, rows, diagonal, V, r) = {
  x = r + 0 * V[0]
  for j in 0..len(x) {
    t = x[j]
    for p in starts[j]..diagonal[j] { t = t - conj(V[p]) * x[rows[p]] }
    x[j] = t / conj(V[diagonal[j]])
  }
  x
}
