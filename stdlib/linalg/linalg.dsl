# linalg.dsl - dense linear algebra: systems and factorisations, matrix
# functions, norms and ranks, special matrices.
#
# Iterative solvers are in iterative.dsl.
#
# Contract:
# - A matrix is [m, n]. Factorisations are computed in f64 or c128; f32 and c64
#   keep their precision.
# - Derivatives exist in every mode and of every order, unless a comment states
#   otherwise.

# ---- systems and factorisations

# linsolve(A, b): x with A x = b, by LU with partial pivoting.
#   b is a vector or a matrix. A is a matrix, the result of factor(A), or a
#   sparse matrix (f64). A sparse symmetric positive definite A is factorised by
#   CHOLMOD, others by KLU or, when the fill-in would be large, by UMFPACK. The
#   last few sparse factorisations are cached by pattern and values.
#   A singular A is an error. Each derivative direction, of any order, costs one
#   solve with the same factors; a gradient costs one with the adjoint matrix.
#     linsolve([2.0, 1; 1, 3], [3.0, 4])  #> [1, 1]
linsolve(A, b) = if kind(A) == "sparse" {
  _sparse_solve(A, b)
} else if kind(A) == "record" {
  _by_factors(A, b)
} else {
  (F, p) = _lu(stop_gradient(A))
  _with_factors(A, F, p, _right_side(A, b))
}
_with_factors(A, F, p, b) =
  _solved(A, F, p, b, trisolve(F, trisolve(F, b[p]; lower = true, unit = true); lower = false))
# factor(A; method = "auto"): the factors of a square matrix, for many
# right-hand sides: linsolve(factor(A), b).
#   A is a matrix (LU with partial pivoting) or a sparse matrix: method "auto",
#   "klu", "umfpack" or "cholmod". The result is a record: matrix, method, and
#   for a dense one LU and pivots.
#   A singular dense matrix is an error here. A singular sparse one is an error
#   in linsolve, which makes and caches its factors. Derivatives with respect to
#   A and b are those of linsolve(A, b).
#     F = factor([2.0, 1; 1, 3])
#     linsolve(F, [3.0, 4])         #> [1, 1]
#     linsolve(F, [1.0, 0])         #~ [0.6, -0.2]
factor(A; method = "auto") =
  if kind(A) == "sparse" { (matrix = A, method = _factor_method(method)) } else {
    assert(method == "auto", "factor: a dense matrix has LU factors; methods are for sparse ones")
    (F, p) = _lu(stop_gradient(A))
    (matrix = A, LU = F, pivots = p)
  }
_by_factors(F, b) =
  if kind(F.matrix) == "sparse" {
    _sparse_solve_by(F.matrix, b, F.method)
  } else {
    _with_factors(F.matrix, F.LU, F.pivots, _right_side(F.matrix, b))
  }
# conditioning(A, x, b): the quality of the solution x of A x = b. A is a square
# matrix, a sparse one or its factors. The result is a record without
# derivatives.
#   condition: an estimate of norm(A, 1) * norm(inv(A), 1), nearly always within
#   a factor of 3. residual: norm(b - A x) / (norm(A, 1) norm(x) + norm(b)).
#   error: the product of both, which bounds the relative error of x up to small
#   factors. [Higham, ACM TOMS 14, 1988, algorithm 4.1]
#     A = [1.0, 1; 1, 1.0001]
#     conditioning(A, linsolve(A, [2.0, 2]), [2.0, 2]).condition   #~ 40004.0001 tol 1e-3
conditioning(A, x, b) = {
  F = if kind(A) == "record" { A } else { factor(A) }
  T = factor(F.matrix')
  n = shape(F.matrix)[0]
  v = linsolve(F, full(1.0 / n, n))
  estimate = norm(v, 1)
  k = 0
  open = n > 1
  seen = -1
  while open and k < 5 {
    z = linsolve(T, where(v >= 0, 1.0, -1.0))
    j = argmax(abs(z))
    open = abs(z[j]) > abs(z @ full(1.0 / n, n)) * (if k == 0 { 1.0 } else { 0.0 }) and j != seen
    if open {
      seen = j
      v = linsolve(F, f64(iota(n) == j))
      more = norm(v, 1)
      open = more > estimate
      estimate = max(estimate, more)
    }
    k = k + 1
  }
  # an alternating vector detects cancellation (Higham's extra estimate)
  i = iota(n)
  other = where(i % 2 == 0, 1.0, -1.0) * (1 + i / max(n - 1, 1))
  estimate = max(estimate, 2 * norm(linsolve(F, other), 1) / (3 * n))
  size = norm(F.matrix, 1)
  residual = stop_gradient(norm(b - F.matrix @ x) / (size * norm(x) + norm(b)))
  condition = stop_gradient(size * estimate)
  (condition = condition, residual = residual, error = condition * residual)
}
# inv(A): the inverse matrix, dense also for a sparse A. linsolve(A, b) is more
# accurate than inv(A) @ b.
#     inv([2.0, 0; 0, 4])           #> [[0.5, 0], [0, 0.25]]
inv(A) = if kind(A) == "sparse" { linsolve(A, eye(len(A))) } else {
  _want_matrix("inv", A)
  linsolve(A, _as_real_of(eye(len(A)), A))
}
# lu(A): (L, U, p) with A[p] = L U. U of a singular matrix has zeros on its
# diagonal.
#   Derivatives are NaN where the matrix is singular.
#     A = [1.0, 2; 3, 4]
#     (L, U, p) = lu(A)
#     L @ U                         #~ A[p]
#     lu([1.0, 2; 2, 4])[1]         #> [[2, 4], [0, 0]]
lu(A) = {
  (F, p) = try { _lu(A) } catch m {
    (F, p) = _lu_of_singular(stop_gradient(A + 0.0))
    (_without_slope(F, A + 0.0), p)
  }
  i = expand(iota(len(A)), 1)
  j = expand(iota(len(A)), 0)
  (where(i > j, F, where(i == j, 1.0, 0.0)), where(i <= j, F, 0.0), p)
}
# Elimination by rows with partial pivoting. A column whose remaining elements
# are all 0 is skipped.
_lu_of_singular(A) = {
  assert(all(ravel(abs(A) < inf)), "lu of a matrix with elements that are not finite")
  n = len(A)
  i = iota(n)
  F = A
  p = i
  for k in 0..n {
    q = argmax(where(i >= k, abs(F[.., k]), -1.0))
    order = where(i == k, q, where(i == q, k, i))
    F = F[order]
    p = p[order]
    pivot = F[k, k]
    part = where(i > k, F[.., k] / where(pivot == 0, 1.0, pivot), 0.0)
    F = F - outer(part, where(i > k, F[k], 0.0))
    F[.., k] = where(i > k, part, F[.., k])
  }
  (F, p)
}
# det(A): determinant, by LU with partial pivoting.
#   Derivatives of every order are those of the determinant as a polynomial,
#   also when A is singular or nearly singular.
#     det([1.0, 2; 3, 4])           #~ -2
#     (t -> det([t, 1.0; 1, t]))''(1.0)       #~ 2
det(A) = if kind(A) == "sparse" {
  _refuse("det takes a matrix with all its elements: det(dense(A))")
} else {
  _det(A)
}
_det(A) = try { (F, p) = _lu(A); _det_by(A, F, p) } catch e { 0.0 * sum(A) }
derivative _det(A), dA = sum(_cofactors(A) * dA)
# For a matrix that is far from singular, with its factors.
derivative _det_by(A, F, p), dA, dF, dp = y * sum(transpose(_with_factors(A, F, p, _one(A))) * dA)
_det_by(A, F, p) = _permutation_sign(p) * prod(diag(F))
_permutation_sign(p) = {
  i = iota(len(p))
  swaps = sum((expand(p, 1) > p) and (expand(i, 1) < i))
  where(swaps % 2 == 0, 1.0, -1.0)
}
# The matrix of derivatives of det(A) with respect to the elements of A, without
# division by quantities that may vanish.
_cofactors(A) =
  if len(A) == 2 { [A[1, 1], -A[1, 0]; -A[0, 1], A[0, 0]] } else if len(A) == 3 {
    stack(cross(A[1], A[2]), cross(A[2], A[0]), cross(A[0], A[1]))
  } else {
    (U, s, V) = svd(stop_gradient(A + 0.0))
    _cofactors_by(A + 0.0, U, s, V)
  }
# Let A = U S V'. Then B = A + U Q Q V' raises all small singular values to the
# largest one, and det(A) = det(B) det(1 - Q V' inv(B) U Q).
#
# In the second factor the m rows and columns of small singular values form a
# block H; the others are those of the identity. The factor is e, the sum of the
# principal minors of H of size m. e and its derivative N follow from Faddeev's
# recurrence (Faddeev and Sominskii 1949), which divides by integers only. They
# are polynomials of degree m in A, so small quantities stay small in
# derivatives. B is far from singular.
_cofactors_by(A, U, s, V) = {
  largest = max(s)
  top = where(largest > 0, largest, 1.0)
  small = s < 0.01 * top
  q = sqrt(where(small, top - s, 0.0))
  (UQ, VQ) = (U * expand(q, 0), V * expand(q, 0))
  B = A + UQ @ VQ'
  (F, p) = _lu(stop_gradient(B))
  I = _one(A)
  W = _with_factors(B, F, p, I)
  H = where(expand(small, 1) and small, I - VQ' @ W @ UQ, 0.0)
  N = 0 * H
  e = 1 + sum(N)
  for k in 0..sum(small) {
    N = e * I - H @ N
    e = sum(H * transpose(N)) / (k + 1)
  }
  transpose(_det_by(B, F, p) * (e * W + W @ UQ @ N @ VQ' @ W))
}
# lstsq(A, b): least-squares solution of A x = b by QR. When columns are
# dependent, or outnumber the rows, it is the solution of minimum norm, by the
# pseudo-inverse.
#   Columns count as dependent when, scaled to norm 1, their smallest singular
#   value is at most 9e-16 times the longer side. A sparse A is factorised by
#   SPQR (f64); then dependent columns are an error.
#   Derivatives of every order solve A'A dx = A'(db - dA x) + dA'(b - A x) with
#   the same R. Those of a minimum norm solution hold for changes that preserve
#   the rank, which includes all changes of b.
#     lstsq([1, 0; 1, 1; 1, 2], [1, 3, 5])  #~ [1, 2]
#     lstsq([1, 1; 1, 1], [1, 3])           #~ [1, 1]
lstsq(A, b) = if kind(A) == "sparse" { _sparse_lstsq(A, b) } else {
  _want_matrix("lstsq", A)
  if shape(A)[0] < shape(A)[1] or size(A) == 0 { pinv(A) @ _right_side(A, b) } else {
    (Q, R) = qr(stop_gradient(A))
    if _has_full_rank(R, shape(A)[0]) { _lstsq_by(A, _right_side(A, b), Q, R) } else {
      _shortest_inverse(A + 0.0) @ _right_side(A, b)
    }
  }
}
# The smallest singular value of R with columns scaled to norm 1, by inverse
# iteration with R'R. Any start works that is not orthogonal to its singular
# vector.
_has_full_rank(R, rows) = {
  c = norm(R; axis = 0)
  if any(diag(R) == 0) or not all(c < inf) { false } else {
    S = R / expand(c, 0)
    v = cos(1 + iota(len(R))^2) + 0 * R[0]
    least = 1.0
    for k in 0..3 {
      w = trisolve(S, v / norm(v); lower = false, adjoint = true)
      v = trisolve(S, w; lower = false)
      least = min(least, 1 / norm(w))
      if not (norm(v) < inf) { least = 0.0; v = 0 * v + 1 }
    }
    least > _rank_rounding(R, rows)
  }
}
# The threshold below which a singular value of columns of norm 1 is rounding
# error.
_rank_rounding(A, rows) = 4 * _rounding(A) * max(rows, shape(A)[1])
# The distance of 1 from the next larger value of A's dtype (machine epsilon).
_rounding(A) =
  if dtype(A) == "f32" or dtype(A) == "c64" {
    1.1920928955078125e-07
  } else {
    2.220446049250313e-16
  }
# The pseudo-inverse with the rank of the matrix whose columns are scaled to
# norm 1. It solves the scaled problem, then removes the component in the null
# space of A to obtain the minimum norm.
derivative _shortest_inverse(A), dA = _moved_inverse(A, y, dA)
_shortest_inverse(A) = {
  c = norm(A; axis = 0)
  c = where(c > 0, c, 1.0)
  (U, s, V) = svd(A / expand(c, 0))
  large = s > _rank_rounding(A, shape(A)[0]) * max(s)
  P = (V * expand(where(large, 1 / where(large, s, 1.0), 0.0), 0)) @ U' / expand(c, 1)
  # the scaling must not amplify rounding errors of a zero component
  null = expand(where(large, 0.0, 0 * s + 1), 0)
  N = where(abs(V) > _rank_rounding(A, shape(A)[0]), V, 0.0) * null / expand(c, 1)
  P - N @ (pinv(N) @ P)
}
derivative _lstsq_by(A, b, Q, R), dA, db, dQ, dR = {
  # A'A = R'R, with a unit lower triangle as lu returns it
  d = diag(R)
  i = expand(iota(len(d)), 1)
  j = expand(iota(len(d)), 0)
  F = where(i > j, R' / expand(d, 0), expand(d, 1) * R)
  _with_factors(A' @ A, F, iota(len(d)), A' @ (db - dA @ y) + dA' @ (b - A @ y))
}
_lstsq_by(A, b, Q, R) = trisolve(R, Q' @ b; lower = false)
# pinv(A; rtol): pseudo-inverse by SVD. Singular values up to rtol times the
# largest count as 0; rtol is by default 1e-13, or 1e-5 for an f32 or c64
# matrix. Derivatives of every order hold where the rank does not change (Golub
# and Pereyra 1973).
#     pinv([1.0, 2; 2, 4])          #~ [1, 2; 2, 4] / 25
pinv(A; rtol = none) = {
  _want_matrix("pinv", A)
  _pinv(A + 0.0, if kind(rtol) != "none" { rtol } else if _rounding(A) >
    1e-10 { 1e-5 } else { 1e-13 })
}
derivative _pinv(A, rtol), dA, drtol = _moved_inverse(A, y, dA)
# The derivative of a pseudo-inverse P of A where the rank is constant.
_moved_inverse(A, P, dA) = {
  D = dA'
  (P @ P') @ (D - (D @ A) @ P) + (D - P @ (A @ D)) @ (P' @ P) - P @ dA @ P
}
_pinv(A, rtol) = {
  (U, s, V) = svd(A)
  large = s > rtol * _largest_singular(s)
  (V * expand(where(large, 1 / where(large, s, 1.0), 0.0), 0)) @ U'
}
# The largest of the singular values, 0 when there are none.
_largest_singular(s) = if len(s) == 0 { sum(s) } else { s[0] }
# slogdet(A): (sign, logarithm of the absolute value) of the determinant; (0,
# -inf) for a singular matrix. The derivative is that of the logarithm, tr(A^-1
# dA).
#     slogdet([1.0, 2; 3, 4])       #~ (-1, log(2))
slogdet(A) = try { _slogdet(A + 0.0) } catch m { (0.0 * sum(A), real(0.0 * sum(A)) - 1 / 0.0) }
_slogdet(A) = {
  (F, p) = _lu(stop_gradient(A))
  d = diag(F)
  (stop_gradient(_permutation_sign(p) * prod(d / abs(d))), _log_det_by(A, F, p))
}
derivative _log_det_by(A, F, p), dA, dF,
  dp = real(sum(transpose(_with_factors(A, F, p, eye(len(A)))) * dA))
_log_det_by(A, F, p) = sum(log(abs(diag(F))))
# logdet(A): logarithm of the determinant of a matrix; NaN when the determinant
# is not positive
#     logdet([2.0, 1; 1, 3])        #~ log(5)
logdet(A) = { (s, l) = slogdet(A); where(real(s) > 0, l, 0 / 0.0) }
# Derivatives of functions of a whole decomposition where eigenvalues or
# singular values coincide. Let f be such a function. The derivative is that of
# the even interpolating polynomial through f(A + e S), at the eight places e of
# _apart_steps, evaluated at e = 0. The error is of order e^8.
#
# S = V diag(d) V' has the vectors of A. It separates values closer than h/10 in
# steps of h times their size. No other gap may be between h/10 and the range of
# the largest e. Singular values may also coincide with 0, where vectors of a
# matrix that is not square divide by them; S moves them away from 0.
_apart_symmetric(A, e) = if rank(A) == 3 { map(B -> _apart_symmetric(B, e), A) } else {
  (w, V) = eigh(stop_gradient(A))
  A + (V * expand(_as_real_of(e, A) * _apart_by(w, false), 0)) @ V'
}
_apart_singular(A, e) = if rank(A) == 3 { map(B -> _apart_singular(B, e), A) } else {
  (U, s, V) = svd(stop_gradient(A))
  A + (U * expand(_as_real_of(e, A) * _apart_by(_with_zero(s), true)[..len(s)], 0)) @ V'
}
_apart_steps() =
  ([1.0, -1, 2, -2, 3, -3, 4, -4], [0.8, 0.8, -0.4, -0.4, 0.8 / 7, 0.8 / 7, -0.1 / 7, -0.1 / 7])
_with_zero(s) = concat(s, 0 * s[..1])
# [whether some coincide, whether some coincide up to rounding]
_some_meet(w) =
  if rank(w) == 2 { any(map(_some_meet, w); axis = 0) } else if len(w) < 2 { [false, false] } else {
    (gap, h) = _near_values(w)
    [any(gap <= 0.1 * h), any(gap <= (if dtype(w) == "f32" { 1e-5 } else { 1e-11 }))]
  }
_some_singular_meet(s) =
  if rank(s) == 2 { any(map(_some_singular_meet, s); axis = 0) } else { _some_meet(_with_zero(s)) }
# (Relative distances of neighbours, the step) of ordered values. A distance is
# relative to the larger of both values, or to the largest of all when both are
# small.
_near_values(w) = {
  n = len(w)
  largest = max(abs(w))
  gap = abs(w[1..] - w[..n - 1]) / _size_near(max(abs(w[1..]), abs(w[..n - 1])), largest)
  h = 1e-5
  for step in [4e-5, 1.6e-4, 6e-4, 2.5e-3, 1e-2] {
    near = gap <= 0.1 * step
    if not any(not near and gap < 10 * step * (1 + sum(near))) { h = step }
  }
  (gap, h)
}
_size_near(size, largest) = where(size > 0.01 * largest, size, where(largest > 0, largest, 1.0))
_apart_by(w, singular) = if len(w) < 2 { 0 * w } else {
  (gap, h) = _near_values(w)
  # group: the cluster of each value; place and count: its index in the cluster
  # and the cluster's size. The cluster of a singular value 0 is the last and
  # begins at 0.
  group = cumsum(concat([0], i64(gap > 0.1 * h)))
  same = expand(group, 1) == group
  place = sum(same and expand(iota(len(w)), 1) > iota(len(w)); axis = 1)
  count = sum(same; axis = 1)
  first = max(where(same, abs(w), 0.0); axis = 1)
  centre = (count - 1) / 2.0
  from = if singular { where(group == group[-1], count - 1.0, centre) } else { centre }
  _as_real_of(h * (from - place), w) * _size_near(first, max(abs(w)))
}
# eigvals(A), eigvalsh(A), svdvals(A): the eigenvalues (complex); those of a
# symmetric or Hermitian matrix, ascending; the singular values, descending
#     eigvalsh([2.0, 1; 1, 2])      #~ [1, 3]
#     svdvals([3.0, 0; 0, 4])       #~ [4, 3]
#     sort(real(eigvals([4.0, 1; 2, 3])))     #~ [2, 5]
eigvals(A) = eig(A)[0]
eigvalsh(A) = eigh(A)[0]
svdvals(A) = svd(A)[1]

# ---- matrix functions

# matrix_power(A, n): A @ A @ ... n times, by repeated squaring. n = 0 gives the
# identity, n < 0 powers of the inverse.
#     matrix_power([1, 1; 1, 0], 10)      #> [[89, 55], [55, 34]]
#     matrix_power([2.0, 0; 0, 4], -1)    #> [[0.5, 0], [0, 0.25]]
matrix_power(A, n) = if kind(A) == "sparse" { _sparse_power(A, n) } else { _matrix_power(A, n) }
_sparse_power(A, n) = {
  assert(n >= 0, "a sparse matrix has powers of 0 and more")
  R = speye(shape(A)[0])
  for k in 0..n { R = R @ A }
  R
}
_matrix_power(A, n) = {
  assert(n >= 0 or _is_inexact(A), "a negative power of a matrix of integers: write f64(A)")
  P = if _is_inexact(A) { if n < 0 { inv(A) } else { A } } else { A }
  R = _one(P)
  k = abs(n)
  while k > 0 {
    if k % 2 == 1 { R = R @ P }
    k = k // 2
    if k > 0 { P = P @ P }
  }
  R
}
_is_inexact(A) = not (dtype(A) == "i64" or dtype(A) == "i32" or dtype(A) == "bool")
# The identity matrix of A's size and dtype.
_one(A) = where(expand(iota(len(A)), 1) == iota(len(A)), ones_like(A), zeros_like(A))
# expm(A): exponential of a matrix, by scaling and squaring with the Padé
# approximant of degree 13.
#   The scaling follows from norms of powers of A, which may be much smaller
#   than powers of its norm. Derivatives are those of the algorithm's steps.
#   [Al-Mohy and Higham, SIAM J. Matrix Anal. Appl. 31 (2009), algorithm 5.1,
#   always with the highest degree]
#     expm([0.0, 1; -1, 0])         #~ [cos(1), sin(1); -sin(1), cos(1)]
#     (t -> expm(t * [0.0, 1; 0, 0])[0, 1])'(3.0)    #~ 1
expm(A) = {
  _want_square("expm", A)
  if size(A) == 0 { A + 0.0 } else { _expm(A + 0.0) }
}
_expm(A) = {
  extent = f64(max(sum(abs(stop_gradient(A)); axis = 0)))
  assert(extent < inf, "the exponential of a matrix with elements that are not finite")
  # Powers of A are scaled by a power of two near its norm, so that they do not
  # overflow. The scale is at least 1, or derivatives at 0 would overflow.
  unit = i64(ceil(log2(max(extent, 1.0))))
  N = A * _as_real_of(0.5^f64(unit), A)
  N2 = N @ N
  N4 = N2 @ N2
  N6 = N4 @ N2
  s = _squarings(stop_gradient(N), stop_gradient(N4), stop_gradient(N6), unit)
  h = _as_real_of(2.0^f64(unit - s), A)
  b = _pade13()
  (I, B) = (_one(A), N * h)
  (B2, B4, B6) = (N2 * h^2, N4 * h^4, N6 * h^6)
  U =
    B @ (B6 @ (b[13] * B6 + b[11] * B4 + b[9] * B2) + b[7] * B6 + b[5] * B4 + b[3] * B2 + b[1] * I)
  V = B6 @ (b[12] * B6 + b[10] * B4 + b[8] * B2) + b[6] * B6 + b[4] * B4 + b[2] * B2 + b[0] * I
  R = linsolve(V - U, V + U)
  for k in 0..s { R = R @ R }
  R
}
# The number of halvings of 2^unit N, where N has a norm of at most 1. After
# them the smallest bound on the norms of the powers is 4.25, and rounding of
# the approximant's terms is negligible.
_squarings(N, N4, N6, unit) = {
  size = M -> f64(max(sum(abs(M); axis = 0)))
  d6 = size(N6)^(1/6)
  d8 = size(N4 @ N4)^(1/8)
  d10 = size(N4 @ N6)^(1/10)
  # powers that underflow in these units give no bound
  extent = if size(N4 @ N6) > 1e-290 { min(max(d6, d8), max(d8, d10)) } else { size(N) }
  s = max(0, unit + i64(ceil(log2(max(extent, 1e-300) / 4.25))))
  # the first omitted term, for the matrix of absolute values: its 27th power
  # divided by (C(26, 13) 27!)
  v = ones(len(N))
  first = 26 * f64(unit - s) - log2(max(size(N), 1e-300)) - 116.446
  for k in 0..27 {
    v = v @ f64(abs(N))
    m = max(max(v), 1e-300)
    first = first + log2(m)
    v = v / m
  }
  s + max(0, i64(ceil((first + 53) / 26)))
}
# A function, so that the literals take the dtype of the other operand.
_pade13() = (
  64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
  129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0,
  960960.0, 16380.0, 182.0, 1.0
)
# sqrtm(A): the principal square root of a matrix, X with X @ X = A, by the
# scaled product form of the Denman-Beavers iteration.
#   The result is complex, as that of eigvals. For an eigenvalue on the negative
#   real axis it has the root on the positive imaginary axis. real(sqrtm(A)) is
#   the root of a real A without such eigenvalues.
#   A may be singular if it has as many eigenvalues 0 as dependent columns; [0,
#   1; 0, 0] has no root, which is an error. Derivatives are those of the
#   iteration, which converge with it; they are NaN where A is singular.
#   [Higham, Functions of Matrices (2008), section 6.3]
#     sqrtm([5.0, 4; 4, 5])         #~ [2, 1; 1, 2]
#     sqrtm([-4.0, 0; 0, 9])        #~ [2im, 0; 0, 3]
sqrtm(A) = _as_complex_of(_any_root(A + 0.0), A)
# z in the precision of A.
_as_complex_of(z, A) = if dtype(A) == "f32" or dtype(A) == "c64" { c64(z) } else { z }
_any_root(A) = {
  _want_square("sqrtm", A)
  assert(size(A) > 0, "sqrtm: the matrix has no elements")
  (U, s, V) = svd(stop_gradient(A))
  _assure_known("sqrtm", s)
  small = s <= len(A) * _rounding(A) * max(s)
  X = if all(s == 0) { _without_slope(0 * stop_gradient(A) + 0im, A) } else if any(small) {
    # A small singular value beside a large one does not imply an eigenvalue
    # near 0. The candidate is therefore tested as a root.
    Y = try { _singular_root(A, U, V, s, small) } catch m { nan * stop_gradient(A) + 0im }
    if _is_root(stop_gradient(Y), stop_gradient(A)) { Y } else {
      try { _turned_root(A) } catch m { _singular_root(A, U, V, s, small) }
    }
  } else { _turned_root(A) }
  if not _is_root(stop_gradient(X), stop_gradient(A)) {
    error(
      "sqrtm: rounding leaves too few digits, since eigenvalues near 0 or near one another are too "
      "ill-conditioned")
  }
  X
}
_is_root(X, A) =
  norm(X @ X - A) <= (if dtype(A) == "f32" or dtype(A) == "c64" { 1e-2 } else { 1e-6 }) * norm(A)
_singular_root(A, U, V, s, small) = {
  # P is the projector onto the null space of A along its range. A + c P is not
  # singular, and its root is that of A plus sqrt(c) P.
  mask = expand(where(small, 0 * s + 1, 0.0), 0)
  P = (V * mask) @ pinv((U * mask)' @ (V * mask); rtol = 1e-8) @ (U * mask)'
  if abs(trace(P) - count(small)) > 1e-6 {
    error("sqrtm: the matrix has no square root: it is singular, and 0 is a defective eigenvalue")
  }
  c = max(s)
  _without_slope(_turned_root(stop_gradient(A) + c * P) - sqrt(c) * P, A)
}
# X as a function of A whose derivative is NaN.
_without_slope(X, A) = X
derivative _without_slope(X, A), dX, dA = nan * (y + dA)
_turned_root(A) = {
  t = _branch_turn(eigvals(stop_gradient(A)))
  try {
    if t == 0 { _sqrtm(A) + 0im } else { _sqrtm(A * exp(-1im * t)) * exp(0.5im * t) }
  } catch m {
    error("sqrtm: no convergence, since there are eigenvalues too near the negative real axis or 0")
  }
}
# The angle by which a matrix with these eigenvalues is rotated so that those on
# the negative real axis leave it and no other reaches it.
_branch_turn(w) = {
  on = real(w) < 0 and abs(imag(w)) <= 1e-13 * abs(w)
  if any(on) { min(0.5 * (min(where(on, 0.0, angle(w))) + π), 1.0) } else { 0.0 }
}
_sqrtm(A) = {
  n = len(A)
  I = _one(A)
  M = A
  X = A
  k = 0
  last = false
  open = true
  while open {
    W = inv(M)
    # Scaled until M is near I, where the plain iteration converges
    # quadratically. One iteration more than the value needs makes the
    # derivatives converge.
    m = if norm(stop_gradient(M) - I) > 0.1 {
      exp(-slogdet(stop_gradient(M))[1] / (2n))
    } else {
      1.0
    }
    X = (0.5 * m) * (X @ (I + W / m^2))
    M = 0.5 * (I + 0.5 * (m^2 * M + W / m^2))
    open = not last
    last = not (norm(stop_gradient(M) - I) >
      (if dtype(A) == "f32" or dtype(A) == "c64" { 1e-6 } else { 1e-14 }) * n)
    k = k + 1
    if k == 100 { error("sqrtm does not converge") }
  }
  X
}
# logm(A): the principal logarithm of a matrix, X with expm(X) = A, by inverse
# scaling and squaring: square roots until A is near the identity, then a
# rational approximation.
#   The result is complex, as that of sqrtm. For an eigenvalue on the negative
#   real axis the logarithm has imaginary part π. A singular matrix has no
#   logarithm, which is an error. Each square root loses accuracy: the error is
#   about 1e-13 for a matrix of moderate size. [Higham, Functions of Matrices
#   (2008), chapter 11: partial fractions at Gauss-Legendre points]
#     logm([1.0, 1; 0, 1])          #~ [0, 1; 0, 0]
#     logm([-1.0, 0; 0, 1])         #~ [1im * π, 0; 0, 0]
#     logm(expm([0.1, 0.5; -0.3, 0.2]))   #~ [0.1, 0.5; -0.3, 0.2]
logm(A) = _as_complex_of(_turned_logarithm(A + 0.0), A)
_turned_logarithm(A) = {
  _want_square("logm", A)
  assert(size(A) > 0, "logm: the matrix has no elements")
  w = eigvals(stop_gradient(A))
  _assure_known("logm", abs(w))
  if not (min(abs(w)) > 0) { error("logm: the matrix is singular and has no logarithm") }
  t = _branch_turn(w)
  if t == 0 { _logm(A) + 0im } else { _logm(A * exp(-1im * t)) + 1im * t * _one(A) }
}
_logm(A) = {
  I = _one(A)
  B = A
  k = 0
  while norm(stop_gradient(B) - I) > 0.25 {
    B = _sqrtm(B)
    k = k + 1
    if k == 60 { error("logm does not converge") }
  }
  X = B - I
  R = 0 * X
  for j in each(8) { R = R + _legendre_weights()[j] * linsolve(I + _legendre_places()[j] * X, X) }
  R * 2.0^k
}
# The 8 Gauss-Legendre points and weights on [0, 1].
_legendre_places() =
  (0.019855071751231884, 0.10166676129318664, 0.2372337950418355, 0.4082826787521751,
    0.591717321247825, 0.7627662049581645, 0.8983332387068134, 0.9801449282487681)
_legendre_weights() =
  (0.05061426814518813, 0.11119051722668724, 0.15685332293894363, 0.181341891689181,
    0.181341891689181, 0.15685332293894363, 0.11119051722668724, 0.05061426814518813)

# ---- products, norms, ranks

# dot(x, y), x · y: inner product: the sum of products
#     dot([1, 2], [3, 4])           #> 11
dot(x, y) = x @ y
# cross(a, b), a × b: cross product of two vectors in three dimensions
#     [1, 0, 0] × [0, 1, 0]         #> [0, 0, 1]
cross(a, b) = {
  assert(len(a) == 3 and len(b) == 3,
    "cross is the product of vectors in three dimensions; in the plane it is the number a[0]*b[1] "
    "- a[1]*b[0]")
  [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
# trace(A): sum of the diagonal of a dense or sparse matrix
#     trace([1, 2; 3, 4])           #> 5.0
trace(A) = if kind(A) == "sparse" { sum(diagonal(A)) } else { _trace(A) }
_trace(A) = {
  _want_matrix("trace", A)
  sum(where(expand(iota(len(A)), 1) == iota(shape(A)[1]), A + 0.0, 0.0))
}
# kron(A, B): Kronecker product of matrices or vectors: each element of A times
# B. A vector beside a matrix counts as a row. The result is sparse when A or B
# is.
#     kron([1, 2], [1, 10])         #> [1, 10, 2, 20]
#     kron([1, 2; 3, 4], eye(2))[1] #> [0, 1, 0, 2]
kron(A, B) = if kind(A) == "sparse" or kind(B) == "sparse" {
  _sparse_kron(A, B)
} else if rank(A) == 1 {
  if rank(B) == 1 { ravel(outer(A, B)) } else { kron(expand(A, 0), B) }
} else if rank(B) == 1 {
  kron(A, expand(B, 0))
} else {
  _want_matrix("kron", A)
  _want_matrix("kron", B)
  (m, n) = shape(A)
  (p, q) = shape(B)
  reshape(reshape(A, m, 1, n, 1) * reshape(B, 1, p, 1, q), m * p, n * q)
}
# norm(x, p = 2; axis, keepdims): without p the square root of the sum of
# squares of all elements; with axis, that of each vector along the axis.
#   For a vector with p: (sum |x|^p)^(1/p); p = inf: the largest, -inf: the
#   smallest absolute value; p = 0: the number of elements that are not 0. For a
#   matrix with p: 1 the largest column sum of absolute values; inf the largest
#   row sum; 2 the largest singular value (-1, -inf, -2 the smallest); "fro" the
#   Frobenius norm, as without p; "nuc" the sum of the singular values. No
#   derivative at 0.
#     norm([3, 4])                  #> 5.0
#     norm([1, -2, 3], 1)           #> 6.0
#     norm([1, -2, 3], inf)         #> 3.0
#     norm([1, 2; 3, 4], 2)         #~ 5.464985704219043
#     norm([3, 4; 6, 8]; axis = 1)  #> [5, 10]
norm(x, p = none; axis = none, keepdims = false) =
  if kind(x) == "sparse" { _norm(x, p, axis) } else {
    _keep_axes(_norm(x, p, axis), x, axis, keepdims)
  }
_norm(x, p, axis) =
  if kind(x) == "sparse" {
    _sparse_norm(x, p)
  } else if kind(axis) != "none" {
    _vector_norm(x, p, axis)
  } else if kind(p) == "none" { _root_of_squares(x + 0.0) }
else if rank(x) == 2 { _matrix_norm(x, p) }
else { _vector_norm(x, p, 0) }
# The square root of the sum of squares, in units of the largest element when
# squares overflow or vanish. No branch decides about differentiable values, so
# elements that a condition excludes, as in sums over pairs, have no derivative.
_root_of_squares(x) = {
  s = _square_unit(stop_gradient(x))
  s * sqrt(sum(abs(x / s)^2))
}
_square_unit(x) = {
  r = sum(abs(x)^2)
  if (r > _least_square(x) and r < _most_square(x)) or size(x) == 0 {
    _as_real_of(1.0, x)
  } else {
    _unit_of(max(abs(x)))
  }
}
_roots_of_squares(x, axis) = {
  s = _square_units(stop_gradient(x), axis)
  s * sqrt(sum(abs(x / expand(s, _axis(x, axis)))^2; axis = axis))
}
_square_units(x, axis) = {
  r = sum(abs(x)^2; axis = axis)
  if all(ravel(r > _least_square(x) and r < _most_square(x))) or size(x) == 0 { 0 * r + 1 } else {
    _unit_of(max(abs(x); axis = axis))
  }
}
# Between these bounds squares are accurate in their dtype.
_least_square(x) = if dtype(x) == "f32" or dtype(x) == "c64" { 1e-25 } else { 1e-250 }
_most_square(x) = if dtype(x) == "f32" or dtype(x) == "c64" { 1e38 } else { 1e300 }
# The unit for values up to m. Neither the result nor its derivative depends on
# it.
_unit_of(m) = { u = stop_gradient(m); where(u > 0 and u < inf, u, 1.0) }
_sparse_norm(A, p) = {
  B = (...A, values = abs(A.values))
  if kind(p) == "none" {
    norm(A.values)
  } else if kind(p) == "string" {
    assert(p == "fro", "a sparse matrix has the norms 1, inf and \"fro\"");
    norm(A.values)
  } else if p == 1 { max(sum(B; axis = 0)) }
  else {
    assert(p == inf, "a sparse matrix has the norms 1, inf and \"fro\"");
    max(sum(B; axis = 1))
  }
}
_vector_norm(x, p, axis) = if kind(p) == "string" {
  _refuse("the norm of a vector takes a number, not a string")
} else if kind(p) == "none" {
  _roots_of_squares(x + 0.0, axis)
} else {
  a = abs(x + 0.0)
  if p == 2 { _roots_of_squares(a, axis) }
  else if p == 1 { sum(a; axis = axis) }
  else if p == inf { max(a; axis = axis) }
  else if p == -inf { min(a; axis = axis) }
  else if p == 0 { _as_real_of(f64(sum(a != 0; axis = axis)), a) }
  else if size(a) == 0 { sum(a; axis = axis) }
  else {
    q = _as_real_of(p, a)
    s = _unit_of(max(a; axis = axis))
    s * sum((a / expand(s, _axis(x, axis)))^q; axis = axis)^(1 / q)
  }
}
_matrix_norm(A, p) = if kind(p) == "string" {
  if p == "fro" {
    norm(A)
  } else if p == "nuc" {
    sum(svdvals(A))
  } else {
    _refuse("the norm of a matrix takes 1, 2, inf, -1, -2, -inf, \"fro\" or \"nuc\"")
  }
} else {
  assert(size(A) > 0, "a matrix without elements has only the norm \"fro\"")
  a = abs(A + 0.0)
  if p == 1 { max(sum(a; axis = 0)) }
  else if p == inf { max(sum(a; axis = 1)) }
  else if p == 2 { svdvals(A)[0] }
  else if p == -1 { min(sum(a; axis = 0)) }
  else if p == -inf { min(sum(a; axis = 1)) }
  else if p == -2 { svdvals(A)[-1] }
  else { error("the norm of a matrix takes 1, 2, inf, -1, -2, -inf, \"fro\" or \"nuc\", not {p}") }
}
# normalize(x; axis): x divided by its norm, of all elements or of each vector
# along an axis
#     normalize([3.0, 4])           #> [0.6, 0.8]
normalize(x; axis = none) =
  if kind(axis) == "none" { x / norm(x) } else { x / norm(x; axis = axis, keepdims = true) }
# cond(A, p = 2): condition number norm(A, p) * norm(inv(A), p); for p = 2 the
# ratio of the largest and the smallest singular value.
#   It is inf for a singular matrix, including the zero matrix.
#     cond([1.0, 0; 0, 4])          #~ 4
#     cond(zeros(3, 3))             #> inf
cond(A, p = none) = {
  _want_matrix("cond", A)
  assert(size(A) > 0, "cond: the matrix has no elements")
  if kind(p) == "none" { s = svdvals(A); where(s[0] == 0, 1.0, s[0]) / s[-1] } else {
    _want_square("cond of this norm", A)
    n = norm(A, p)
    where(n == 0, 1.0, n) * (try { norm(inv(A), p) } catch e { inf + 0.0 * n })
  }
}
# matrix_rank(A; rtol): number of singular values larger than rtol times the
# largest. By default rtol is the rounding error of A's dtype, 2.2e-16 for f64,
# times the longer side.
#     matrix_rank([1.0, 2; 2, 4])   #> 1
matrix_rank(A; rtol = none) = {
  _want_matrix("matrix_rank", A)
  s = svdvals(A)
  _assure_known("matrix_rank", s)
  sum(s > _rank_tolerance(A, rtol) * _largest_singular(s))
}
# A matrix with NaN or infinite elements has NaN singular values, which would
# count as 0.
_assure_known(who, s) = assert(all(s < inf), "{who} of a matrix with elements that are not finite")
_rank_tolerance(A, rtol) =
  if kind(rtol) == "none" { _rounding(A) * max(shape(A)[0], shape(A)[1]) } else { rtol }
# null_space(A; rtol): an orthonormal basis of the null space of A, as columns.
# rtol is that of matrix_rank.
#     N = null_space([1.0, 1, 0; 0, 0, 1])
#     abs(N)                        #~ [sqrt(0.5); sqrt(0.5); 0]
null_space(A; rtol = none) = {
  _want_matrix("null_space", A)
  (m, n) = shape(A)
  # padded with rows of zeros, so that V is square
  (U, s, V) = svd(concat(A + 0.0, broadcast_to(sum(zeros_like(A + 0.0)), max(0, n - m), n)))
  _assure_known("null_space", s)
  transpose(transpose(V)[s <= _rank_tolerance(A, rtol) * _largest_singular(s)])
}
# orth(A; rtol): an orthonormal basis of the column space of A, as columns. rtol
# is that of matrix_rank.
#     Q = orth([1.0, 2; 2, 4])
#     Q @ Q'                        #~ [1, 2; 2, 4] / 5
orth(A; rtol = none) = {
  _want_matrix("orth", A)
  (U, s, V) = svd(A + 0.0)
  _assure_known("orth", s)
  transpose(transpose(U)[s > _rank_tolerance(A, rtol) * _largest_singular(s)])
}

# ---- special matrices

# block_diag(parts): the block diagonal matrix of the matrices of a tuple or
# list
#     block_diag(([1, 2; 3, 4], [5]))     #> [[1, 2, 0], [3, 4, 0], [0, 0, 5]]
block_diag(parts) = {
  blocks = list()
  for p in parts { blocks = push(blocks, if rank(p) == 2 { p } else { reshape(p, 1, -1) }) }
  width = 0
  for b in blocks { width = width + shape(b)[1] }
  rows = list()
  left = 0
  for b in blocks {
    (m, n) = shape(b)
    nought = sum(b[..0])
    rows = push(rows, concat(full(nought, m, left), b, full(nought, m, width - left - n); axis = 1))
    left = left + n
  }
  concat(rows)
}
# toeplitz(c, r = conj(c)): the Toeplitz matrix with first column c and first
# row r; r[0] is not used
#     toeplitz([1, 2, 3])           #> [[1, 2, 3], [2, 1, 2], [3, 2, 1]]
#     toeplitz([1, 2], [9, 8, 7])   #> [[1, 8, 7], [2, 1, 8]]
toeplitz(c, r = none) = {
  row = if kind(r) == "none" { if _is_complex(c) { conj(c) } else { c } } else { r }
  _want_vector("toeplitz", c)
  _want_vector("toeplitz", row)
  v = concat(flip(row[min(1, len(row))..]), c)
  v[expand(iota(len(c)), 1) - iota(len(row)) + (len(row) - 1)]
}
# hankel(c, r): the Hankel matrix with first column c and last row r (zeros by
# default); r[0] is not used
#     hankel([1, 2, 3])             #> [[1, 2, 3], [2, 3, 0], [3, 0, 0]]
hankel(c, r = none) = {
  row = if kind(r) == "none" { zeros_like(c) } else { r }
  _want_vector("hankel", c)
  _want_vector("hankel", row)
  concat(c, row[min(1, len(row))..])[expand(iota(len(c)), 1) + iota(len(row))]
}
# circulant(c): the circulant matrix with first column c; each other column is
# shifted down by one place. circulant(c) @ x is the cyclic convolution.
#     circulant([1, 2, 3])          #> [[1, 3, 2], [2, 1, 3], [3, 2, 1]]
circulant(c) = {
  _want_vector("circulant", c)
  c[(expand(iota(len(c)), 1) - iota(len(c))) % len(c)]
}
# vander(x, n; increasing = false): the Vandermonde matrix: n (by default
# len(x)) columns of powers of x, from x^(n-1) to 1, or in increasing order
#     vander([2, 3], 3)             #> [[4, 2, 1], [9, 3, 1]]
vander(x, n = none; increasing = false) = {
  _want_vector("vander", x)
  m = if kind(n) == "none" { len(x) } else { n }
  P =
    cumprod(concat(expand(ones_like(x), 1), broadcast_to(expand(x, 1), len(x), max(m, 1) - 1);
      axis = 1); axis = 1)[.., ..m]
  if _known(increasing, "increasing") { P } else { flip(P; axis = 1) }
}
# hilbert_matrix(n): the Hilbert matrix 1/(i + j + 1), which is badly
# conditioned
#     hilbert_matrix(2)                  #~ [1, 1/2; 1/2, 1/3]
hilbert_matrix(n) = 1 / (expand(iota(n), 1) + iota(n) + 1)
