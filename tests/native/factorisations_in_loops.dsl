# Factorisations and triangular solves of matrices too large for registers,
# inside compiled loops. Oracle: the same operations outside loops.

# A well-conditioned matrix that needs row exchanges.
matrix(n) = { i = f64(iota(n)); sin(expand(3i, 1) * (i + 1.0)) + 2.5 * f64(expand(iota(n), 1) == (iota(n) + n // 2) % n) }
# Newton-like iterations: one factorisation and two solves an iteration.
turns(A, b, k) = {
  x = 0.0 * b
  for i in 0..k {
    (L, U, p) = lu(A + 1e-5 * i * eye(len(b)))
    r = b - A @ x
    x = x + trisolve(U, trisolve(L, r[p]; lower = true, unit = true); lower = false)
  }
  x
}
for n in list(6, 8, 12, 16, 20, 30, 70) {
  A = matrix(n)
  b = cos(f64(iota(n)))
  x = turns(A, b, 40)
  assert(norm(A @ x - b) < 1e-10 * norm(x), "{n}: {norm(A @ x - b)}")
  assert(norm(linsolve(A, b) - x) < 1e-9 * norm(x), "{n} beside linsolve")
}
# Several right-hand sides, the adjoint triangle, f32.
many(A, B, k) = { X = 0.0 * B; for i in 0..k { X = X + linsolve(A, B - A @ X) }; X }
A = matrix(9)
B = reshape(sin(f64(iota(27))), 9, 3)
norm(A @ many(A, B, 5) - B) < 1e-12 * norm(B)      #> true
norm(A @ many(f32(A), f32(B), 5) - B) < 1e-5 * norm(B)     #> true
lower(L, b, k) = { x = b; for i in 0..k { x = trisolve(L, trisolve(L, x; lower = true); lower = true, adjoint = true) }; x }
C = cholesky(A @ A' + eye(9))
whiten(S, b, k) = { x = b; for i in 0..k { T = cholesky(S + i * eye(len(b))); x = trisolve(T, x; lower = true) }; x }
S = A @ A' + eye(9)
back(S, x, k) = { y = x; for i in 0..k { y = cholesky(S + (k - 1 - i) * eye(len(x))) @ y }; y }
norm(back(S, whiten(S, B[.., 0], 4), 4) - B[.., 0]) < 1e-10    #> true
norm((S @ (S @ lower(cholesky(S), B[.., 0], 2))) - B[.., 0]) < 1e-8 * norm(S)    #> true
# Derivatives of such loops.
d = jvp(s -> sum(turns(s * A, B[.., 0], 3)), 1.0, 1.0)[1]
d      #~ -sum(linsolve(A, B[.., 0])) tol 1e-9
grad(s -> sum(turns(s * A, B[.., 0], 3)))(1.0)      #~ -sum(linsolve(A, B[.., 0])) tol 1e-9
# A matrix that becomes singular during the loop is reported.
shrink(A, k) = { B = A; x = 0.0; for i in 0..k { x = x + linsolve(B, B[.., 1])[0]; B[3] = B[3] * where(i == 2, 0.0, 1.0) }; x }
try { shrink(A, 5) } catch m { m }      #> the matrix is singular (pivot 8 of 9)
try { shrink(matrix(20), 5) } catch m { m }      #> the matrix is singular (pivot 19 of 20)
