# iterative.dsl - linear systems by Krylov methods: only products with the
# matrix are needed; and preconditioners for them.
#
# A is a matrix, a sparse one, or a function x -> A x. Each solver stops when |b
# - A x| is below tol |b|, as its recurrence tells, and an error says when that
# is not reached in `steps` products. A preconditioner is a function r -> an
# approximate solution, or a record of such functions, apply and adjoint, as
# jacobi, ilu0 and ichol0 make.
# Derivatives, of every order, by b and whatever A is made of, take a solution
# each, a gradient one with the adjoint matrix (of a function by its transpose,
# which is derived). With report = true the result is a record: x, residual (|b
# - A x| / |b|), iterations.

# cg(A, b; tol = 1e-10, steps, preconditioner, report): x with A x = b by
# conjugate gradients, A symmetric (Hermitian) and positive definite
#   steps: 10 times as many as unknowns unless given. The preconditioner is
#   symmetric and positive definite, too. [Hestenes and Stiefel 1952]
#     cg([4.0, 1; 1, 3], [1.0, 2])  #~ [1, 7] / 11
#     cg(x -> 2x, [2.0, 4])         #~ [1, 2]
cg(A, b; tol = 1e-10, steps = none, preconditioner = none, report = false) =
  _krylov("cg", _cg, A, b, tol, steps, preconditioner, 0, true, report)
# minres(A, b; tol = 1e-10, steps, preconditioner, report): x with A x = b by
# minimal residuals, A symmetric (Hermitian), also indefinite
#   The preconditioner is symmetric and positive definite, and residuals are
#   measured by it. [Paige and Saunders, SIAM J. Numer. Anal. 12, 1975]
#     minres([1.0, 2; 2, 1], [3.0, 3])        #~ [1, 1]
minres(A, b; tol = 1e-10, steps = none, preconditioner = none, report = false) =
  _krylov("minres", _minres, A, b, tol, steps, preconditioner, 0, true, report)
# gmres(A, b; restart = 30, tol = 1e-10, steps, preconditioner, report): x with
# A x = b by generalised minimal residuals, any A, begun anew after `restart`
# products
#   [Saad and Schultz, SIAM J. Sci. Stat. Comput. 7, 1986; preconditioned from
#   the right]
#     gmres([1.0, 2; -3, 1], [3.0, -2])       #~ [1, 1]
gmres(A, b; restart = 30, tol = 1e-10, steps = none, preconditioner = none, report = false) =
  _krylov("gmres", _gmres, A, b, tol, steps, preconditioner, restart, false, report)
# bicgstab(A, b; tol = 1e-10, steps, preconditioner, report): x with A x = b by
# stabilised biconjugate gradients, any A, with eight vectors of memory
#   [van der Vorst, SIAM J. Sci. Stat. Comput. 13, 1992; preconditioned from the
#   right]
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
# f, whose results are as long as what it takes, so that loops know the lengths
# of what they carry
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
      "{o.name}: |b - A x| is {rest:.1e} after {k} steps, not {o.tol * norm(b):.1e}; is the "
      "matrix what the method asks for?")
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
# Conjugate gradients from 0, until over(residual r, r'M r, what that was at
# first), or after `steps` products, or where a curvature is not positive. Gives
# x, products, residual, and whether all curvatures were.
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

# Lanczos' tridiagonal matrix, its QR factors row by row
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
  # What is asked for is told in the preconditioner's norm, in which the
  # recurrence has phibar; of a singular matrix that says nothing, but the
  # residual itself does.
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
      # orthogonal, and once more for the digits
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
    # the triangular system, from the last row
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
    # nearly orthogonal to where it began: begun anew
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

# jacobi_preconditioner(A): division by the diagonal of a matrix or a sparse
# matrix
#     cg([4.0, 1; 1, 3], [1.0, 2]; preconditioner = jacobi_preconditioner([4.0, 1; 1, 3]))      #~ [1, 7] / 11
jacobi_preconditioner(A) = {
  d = stop_gradient(diagonal(A))
  assert(all(d != 0), "jacobi_preconditioner: there is a 0 on the diagonal")
  (apply = r -> r / d, adjoint = r -> r / conj(d))
}
# ilu0(A): the incomplete LU factors of a sparse matrix on its own pattern, as a
# preconditioner; every diagonal element is stored
#   Exact where LU does not fill in. No derivatives: a preconditioner does not
#   change the solution. [Saad, Iterative Methods for Sparse Linear Systems,
#   2003, section 10.3]
#     A = spdiags((4.0, -1.0, -2.0), (0, 1, -1), 50);
#     gmres(A, ones(50); preconditioner = ilu0(A), report = true).iterations      #> 1
ilu0(A) = {
  _want_stored("ilu0", A)
  (starts, rows, diagonal, V) = _ilu0(A.column_start, A.rows, stop_gradient(A.values))
  n = len(starts) - 1
  (apply = r -> _upper_solve(starts, rows, diagonal, V,
    _lower_solve(starts, rows, diagonal, V, r, true)),
    adjoint = r -> _lower_adjoint(starts, rows, diagonal, V,
      _upper_adjoint(starts, rows, diagonal, V, r), true))
}
# ichol0(A): the incomplete Cholesky factor of a symmetric positive sparse
# matrix on its own pattern, as a preconditioner; A may be given by its lower
# half or whole
#   An error says when a pivot is not positive. [Meijerink and van der Vorst,
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
# Column after column (left-looking): w holds where the column's elements stand.
# Gives starts, rows, the place of each diagonal element, values.
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
# Column after column (right-looking) on the lower half.
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
# With the elements below the diagonal, whose own is 1 where unit.
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
