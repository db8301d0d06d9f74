# eigs.dsl - some eigenvalues of sparse matrices: A x = λ x and A x = λ B x.
#
# Method: solvers/linear/eigs.c gives an orthonormal basis of few vectors. On it
# the operator (A - sigma B)^-1 B, or B^-1 A, is a small dense matrix. Its
# eigenvectors are multiplied by the operator once more, which removes what a
# singular B would hide (Meerbergen and Spence, SIAM J. Matrix Anal. Appl. 18,
# 1997).
#
# Contract: |A x - λ B x| of each pair is at the level of rounding, or below
# 1e-6 |λ - sigma| |B x|. Anything else is an error.

# eigsh(A, k = 6; which = "LM", sigma = none, mass = none): (values, vectors): k
# eigenvalues of a symmetric or Hermitian sparse matrix, f64[k], ascending, and
# their orthonormal eigenvectors as columns, [n, k].
#   k is less than the number of rows n. A multiple eigenvalue counts as often
#   as it is one: a second search looks for what the first has missed.
#   [ARPACK: implicitly restarted Lanczos iteration] Derivatives of values are
#   v'(dA - λ dB) v, those of vectors solve a bordered system each. They exist
#   in all modes and of every order, for simple eigenvalues only.
#   which: "LM" or "SM", largest or smallest magnitude; "LA" or "SA", the
#   largest or the smallest.
#   sigma: a real number. Those nearest to it are computed, by shift-invert with
#   the factors of A - sigma B. This is by far the fastest for eigenvalues
#   inside the spectrum: it costs one factorisation and about 50 + 5k solves. It
#   must not be an eigenvalue.
#   mass: the matrix B of A x = λ B x, sparse and symmetric or Hermitian; the
#   identity by default. The vectors are orthonormal in its inner product: V' @
#   B @ V is the identity. B is positive definite. With sigma it may be
#   singular, as where a field has no rate; infinite eigenvalues are left out. A
#   Cholesky factorisation refuses any other B.
#     (w, V) = eigsh(spdiags((2.0, -1.0, -1.0), (0, 1, -1), 100), 2; sigma = 0.0);
#     w                             #~ 2 - 2cos(π * [1, 2] / 101) tol 1e-10
#     (K, M) = (spdiags((2.0, -1, -1), (0, 1, -1), 99), spdiags((4.0, 1, 1), (0, 1, -1), 99))
#     6e4 * eigsh(K, 2; sigma = 0.0, mass = M)[0]   #~ π^2 * [1, 4] tol 0.02
eigsh(A, k = 6; which = "LM", sigma = none, mass = none) = {
  _want_sparse("eigsh", "eigh", A)
  (a, b, s) = _pencil("eigsh", A, k, 1, sigma, mass)
  assert(not _is_complex(s), "eigsh: sigma is real, as the eigenvalues are")
  assert(which == "LM" or which == "SM" or which == "LA" or which == "SA",
    "eigsh: which is \"LM\", \"SM\", \"LA\" or \"SA\"")
  (A, B) = ((...A, values = a), b)
  word = if _is_complex(a) { "Hermitian" } else { "symmetric" }
  if not _is_own_adjoint(A) { error("eigsh: the matrix is not {word}; eigs takes any") }
  if not _is_own_adjoint(B) { error("eigsh: the mass matrix is not {word}; eigs takes any") }
  (w, V) = _hermitian_pairs("eigsh", "sigma", A, B, k,
    if kind(sigma) == "none" { _which(which) } else { 0 }, s,
    if kind(sigma) == "none" { 0 } else { 1 })
  (w, _with_signs(V))
}
# The same for matrices that are their own adjoints and for other callers (who),
# whose sigma has another name (shift). near is 1 with sigma, else 0.
_hermitian_pairs(who, shift, A, B, k, which, sigma, near) =
  _eigsh_of(who, shift, A.column_start, A.rows, A.columns, A.row_start, A.values, B.column_start,
    B.rows, B.columns, B.row_start, B.values, zeros(k), which, sigma, near)
# V with signs, or phases, that do not depend on the iteration.
_with_signs(V) = {
  z = sum(V * expand(sin(iota(len(V)) + 1.0), 1); axis = 0)
  u = where(z == 0, 1.0, z)
  V * expand(if _is_complex(V) { conj(u) / abs(u) } else { where(z < 0, -1.0, 1.0) }, 0)
}
_want_sparse(who, whole, A) = if kind(A) != "sparse" {
  _want_matrix(who, A)
  _refuse(
    "{who} takes a sparse matrix, as to_sparse(A) makes one; {whole}(A) gives all eigenvalues of "
    "one with its zeros")
}
# Returns the values of A, the mass matrix and sigma in the same arithmetic.
_pencil(who, A, k, spare, sigma, mass) = {
  (m, n) = shape(A)
  assert(m == n, "{who}: a matrix of {m} by {n} has no eigenvalues")
  if k < 1 or k > n - spare {
    error(
      "{who}: {k} eigenvalues of a sparse matrix of {n} rows: there must be fewer of them (by one "
      "when symmetric, by two else); eig(dense(A)) gives all")
  }
  B = if kind(mass) == "none" { speye(n) } else {
    if kind(mass) != "sparse" {
      _refuse("{who} takes a sparse matrix as mass, as to_sparse(B) makes one")
    }
    mass
  }
  (p, q) = shape(B)
  assert(p == n and q == n,
    "{who}: a matrix of {m} by {n} has a mass of as many rows, not {p} by {q}")
  s = if kind(sigma) == "none" { 0.0 } else { sigma + 0.0 }
  _want_finite(who, "matrix", A.values)
  _want_finite(who, "mass", B.values)
  assert(abs(s) < inf, "{who}: sigma is {s}")
  if _is_complex(A.values) or _is_complex(B.values) {
    (c128(A.values), (...B, values = c128(B.values)), s)
  } else if _is_complex(s) {
    (c128(A.values), (...B, values = c128(B.values)), s)
  } else {
    (f64(A.values), (...B, values = f64(B.values)), f64(s))
  }
}
_want_finite(who, what, values) = {
  odd = sum(i64(not (abs(values) < inf)))
  assert(odd == 0, "{who}: {odd} elements of the {what} are not finite")
}
_which(which) = if which == "LM" {
  0
} else if which == "SM" {
  1
} else if which == "LA" {
  2
} else if which == "SA" {
  3
} else if which == "LR" {
  4
} else if which == "SR" {
  5
} else if which == "LI" {
  6
} else if which == "SI" {
  7
} else {
  error(
    "which eigenvalues: \"LM\", \"SM\", of symmetric matrices \"LA\", \"SA\", of others \"LR\", "
    "\"SR\", \"LI\", \"SI\"")
}
_eigsh_of(who, shift, starts, rows, columns, row_start, values, b_starts, b_rows, b_columns,
  b_row_start, b_values, k, which, sigma, near) = {
  A =
    (rows = rows, columns = columns, values = values, column_start = starts, row_start = row_start)
  B =
    (rows = b_rows, columns = b_columns, values = b_values, column_start = b_starts,
      row_start = b_row_start)
  (w, V) = _eigen_pairs(who, shift, A, B, k, which, sigma, near, 1)
  order = argsort(w)
  (w[order], V[.., order])
}
_is_own_adjoint(A) =
  max(concat([0.0], abs((A - A').values))) <= 1e-12 * max(concat([0.0], abs(A.values)))
derivative _eigsh_of(who, shift, starts, rows, columns, row_start, values, b_starts, b_rows,
  b_columns, b_row_start, b_values, k, which, sigma, near), dwho, dshift, dstarts, drows, dcolumns,
  drow_start, dvalues, db_starts, db_rows, db_columns, db_row_start, db_values, dk, dwhich, dsigma,
  dnear = {
  (w, V) = y
  A =
    (rows = rows, columns = columns, values = values, column_start = starts, row_start = row_start)
  B =
    (rows = b_rows, columns = b_columns, values = b_values, column_start = b_starts,
      row_start = b_row_start)
  R = 0 * V
  if not _absent(dvalues) { R = R + (...A, values = dvalues) @ V }
  M = 0 * V
  if not _absent(db_values) { M = M + (...B, values = db_values) @ V }
  R = R - M * expand(w, 0)
  dw = real(sum(conj(V) * R; axis = 0))
  # v'B v stays 1
  dV = -0.5 * V * expand(sum(conj(V) * M; axis = 0), 0)
  for j in 0..len(w) { dV[.., j] = dV[.., j] - _apart_from(A, B, w[j], V[.., j], R[.., j]) }
  (dw, dV)
}
# Returns z with (A - w B) z = b - B v (v'b) and v'B z = 0, for the eigenvector
# v of the simple eigenvalue w. This is a Hermitian linear map of b.
_apart_from(A, B, w, v, b) = if _is_complex(v) {
  solve = b -> {
    z = _bordered(A, B, w, B @ v, B @ v, b[..len(v)] + im * b[len(v)..])
    concat(z[..len(v)], z[len(v) + 1..-1])
  }
  z = linear_map(solve, solve, concat(real(b), imag(b)))
  z[..len(v)] + im * z[len(v)..]
} else {
  solve = b -> _bordered(A, B, w, B @ v, B @ v, b)[..len(v)]
  linear_map(solve, solve, b)
}
# Returns z with [A - w B, u; v', 0] z = [b; 0]; in the complex case the real
# parts of z and then the imaginary ones.
_bordered(A, B, w, u, v, b) = {
  n = len(v)
  i = iota(n)
  last = 0 * i + n
  S = sparse(concat(A.rows, B.rows, i, last), concat(A.columns, B.columns, last, i),
    concat(A.values, -w * B.values, u, conj(v)), n + 1, n + 1)
  linsolve(_real_form(S),
    if _is_complex(b) { concat(real(b), [0.0], imag(b), [0.0]) } else { concat(b, [0.0]) })
}
# A complex matrix as a real one: [real(A), -imag(A); imag(A), real(A)]
_real_form(A) = if _is_complex(A.values) {
  (r, c, n) = (A.rows, A.columns, len(A.row_start) - 1)
  (x, y) = (real(A.values), imag(A.values))
  sparse(concat(r, r + n, r, r + n), concat(c, c, c + n, c + n), concat(x, y, -y, x), 2n, 2n)
} else { A }

# eigs(A, k = 6; which = "LM", sigma = none, mass = none): (values, vectors),
# c128[k] and c128[n, k]: k eigenvalues of any sparse matrix, real or complex,
# and their eigenvectors of norm 1 as columns.
#   k is at most the number of rows n minus two. [ARPACK: implicitly restarted
#   Arnoldi iteration] Values are ordered by distance from sigma, else by
#   decreasing magnitude. Those that are simple have derivatives in all modes
#   and of every order, by a bordered system each. Vectors have none.
#   which: "LM" or "SM", largest or smallest magnitude; "LR" or "SR", largest or
#   smallest real part; "LI" or "SI", imaginary part, of real matrices its
#   magnitude.
#   sigma: a real or complex number. Those nearest to it are computed, as by
#   eigsh.
#   mass: the matrix B of A x = λ B x, sparse and regular; the identity by
#   default. With sigma it may be singular; infinite eigenvalues are left out.
#     (w, V) = eigs(spdiags((2.0, -1.0, -3.0), (0, 1, -1), 50), 2; which = "LR");
#     real(w)                       #~ 2 + 2sqrt(3) * cos(π * [1, 2] / 51) tol 1e-8
#     T = spdiags((0.0, 1.0, -1.0), (0, 1, -1), 50)
#     imag(eigs(T, 1; sigma = im, mass = 2 * speye(50))[0])      #~ [cos(π / 51)] tol 1e-10
eigs(A, k = 6; which = "LM", sigma = none, mass = none) = {
  _want_sparse("eigs", "eig", A)
  number = _which(which)
  assert(number != 2 and number != 3,
    "eigs: which is \"LM\", \"SM\", \"LR\", \"SR\", \"LI\" or \"SI\"")
  (a, b, s) = _pencil("eigs", A, k, 2, sigma, mass)
  (w, V) = _eigs_of(A.column_start, A.rows, A.columns, A.row_start, a, b.column_start, b.rows,
    b.columns, b.row_start, b.values, zeros(k), if kind(sigma) == "none" { number } else { 0 }, s,
    if kind(sigma) == "none" { 0 } else { 1 })
  (w, stop_gradient(V))
}
_eigs_of(starts, rows, columns, row_start, values, b_starts, b_rows, b_columns, b_row_start,
  b_values, k, which, sigma, near) = {
  A =
    (rows = rows, columns = columns, values = values, column_start = starts, row_start = row_start)
  B =
    (rows = b_rows, columns = b_columns, values = b_values, column_start = b_starts,
      row_start = b_row_start)
  (w, V) = _eigen_pairs("eigs", "sigma", A, B, k, which, sigma, near, 0)
  # conjugate pairs: positive imaginary part first
  order =
    argsort((if near == 1 { abs(w - sigma) } else { -abs(w) }) *
      (1 + 1e-12 * where(imag(w) < 0, 1.0, -1.0) * (if near == 1 { 1.0 } else { -1.0 })))
  (w[order], V[.., order])
}
derivative _eigs_of(starts, rows, columns, row_start, values, b_starts, b_rows, b_columns,
  b_row_start, b_values, k, which, sigma, near), dstarts, drows, dcolumns, drow_start, dvalues,
  db_starts, db_rows, db_columns, db_row_start, db_values, dk, dwhich, dsigma, dnear = {
  (w, V) = y
  n = len(starts) - 1
  A =
    (rows = rows, columns = columns, values = values, column_start = starts, row_start = row_start)
  B =
    (rows = b_rows, columns = b_columns, values = b_values, column_start = b_starts,
      row_start = b_row_start)
  R = 0 * V
  if not _absent(dvalues) { R = R + (...A, values = dvalues) @ V }
  if not _absent(db_values) { R = R - ((...B, values = db_values) @ V) * expand(w, 0) }
  (dw, dV) = (0 * w, 0 * V)
  # (A - w B) dv - dw B v = -(dA - w dB) v, with v'dv = 0
  for j in 0..len(w) {
    v = V[.., j]
    z = _bordered(A, B, w[j], -(B @ v), v, -R[.., j])
    dw[j] = z[n] + im * z[2n + 1]
    dV[.., j] = z[..n] + im * z[n + 1..2n + 1]
  }
  (dw, dV)
}

# Returns the wanted eigenvalues of A x = λ B x, as many as k has elements, and
# their eigenvectors: with hermitian = 1 real and orthonormal in the inner
# product of B, else (0) complex and of norm 1. near = 1: those nearest to
# sigma, with which = 0. who and shift are the names of the caller and of its
# sigma in messages.
_eigen_pairs(who, shift, A, B, k, which, sigma, near, hermitian) = {
  (Q, W, state) = _host("sparse_eigs", (),
    (A.column_start, A.rows, A.values, B.column_start, B.rows, B.values,
      reshape(sum(A.values[..0]) + sigma, 1), len(k)), (near, hermitian, which))
  m = shape(Q)[1]
  _refuse_pencil(who, shift, state[0], m, len(k), sigma, near, hermitian)
  (θ, Y) = if hermitian == 1 {
    H = Q' @ (B @ W)
    eigh(0.5 * (H + H'))
  } else {
    eig(Q' @ W)
  }
  best = argsort(_least_wanted(θ, which, _is_complex(A.values)))[iota(len(k))]
  largest = max(abs(θ))
  (θ, Y) = (θ[best], Y[.., best])
  if near == 1 {
    finite = sum(i64(abs(θ) > 1e-12 * largest))
    assert(finite == len(k),
      "{who}: of the {len(k)} eigenvalues nearest to {shift} = {sigma}, {finite} are finite: the "
      "mass matrix is singular, or {shift} is an eigenvalue")
  }
  # the operator's image has no parts with infinite eigenvalues
  X = if near == 1 { W @ Y } else { Q @ Y }
  BX = B @ X
  size = if hermitian == 1 { real(sum(conj(X) * BX; axis = 0)) } else { sum(abs(X)^2; axis = 0) }
  (X, BX) = (X / expand(sqrt(size), 0), BX / expand(sqrt(size), 0))
  λ = if near == 1 { sigma + 1 / θ } else { θ }
  length = V -> sqrt(sum(abs(V)^2; axis = 0))
  residual = length(A @ X - BX * expand(λ, 0))
  # what the solves lose far from sigma, and what rounding A x and B x explains
  admitted = 1e-6 * abs(λ - (if near == 1 { sigma } else { 0.0 })) * length(BX) +
    1e-12 * (_largest_column(A) + abs(λ) * _largest_column(B)) * length(X)
  bad = sum(i64(not (residual <= admitted)))
  told = "{bad} of {len(k)} eigenvalues are inaccurate: |A x - λ B x| is up to {max(residual):.1e}"
  assert(bad == 0 or near == 0 or largest < 1e6 * min(abs(θ)),
    "{who}: {told}, since {shift} = {sigma} is nearly an eigenvalue; one moved by "
    "{0.01 / min(abs(θ)):.0e} serves")
  assert(bad == 0,
    "{who}: {told}; {if near == 1 { "another" } else { "a number near those wanted as" }} {shift} "
    "may serve")
  (λ, X)
}
_largest_column(A) = max(_rows_summed(abs(A.values), A.columns, len(A.column_start) - 1))
# Returns keys that are smaller for eigenvalues that are wanted more. signed:
# the matrices are complex, so there are no conjugate pairs.
_least_wanted(θ, which, signed) = {
  y = if signed { imag(θ) } else { abs(imag(θ)) }
  key = if which == 0 {
    -abs(θ)
  } else if which == 1 {
    abs(θ)
  } else if which == 2 or which == 4 {
    -real(θ)
  } else if which == 3 or which == 5 {
    real(θ)
  } else if which == 6 {
    -y
  } else {
    y
  }
  # of a conjugate pair, first the one with the positive imaginary part
  key + 1e-12 * max(abs(key)) * where(imag(θ) < 0, 1.0, 0.0)
}
# The messages for the states of the host function.
_refuse_pencil(who, shift, state, m, k, sigma, near, hermitian) = {
  assert(state != 1,
    "{who}: A - {shift} B is singular, since {shift} = {sigma} is an eigenvalue; a number next to "
    "it serves, unless A x and B x are 0 for the same x")
  assert(state != 2,
    "{who}: without {shift} the mass matrix must be "
    "{if hermitian == 1 { "positive definite" } else { "regular" }}")
  assert(state != 3,
    "{who}: the mass matrix is not positive semidefinite, so that the eigenvalues may be complex"
    "{if who == "eigsh" { "; eigs takes any" } else { "" }}")
  assert(state != 4 or m >= k,
    "{who}: {k} eigenvalues where only {m} are finite, since the mass matrix is singular")
  assert(state != 5 or near == 0,
    "{who}: fewer than {k} eigenvalues near {sigma} have converged; ask for fewer, or for those "
    "near another number: {shift} = ...")
  assert(state != 5,
    "{who}: fewer than {k} eigenvalues have converged; {shift} = a number near those wanted makes "
    "them converge fast")
}
