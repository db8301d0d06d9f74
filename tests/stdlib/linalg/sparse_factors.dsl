# Sparse direct solvers by structure, cached factorisations, least squares,
# condition numbers.

n = 30
T = spdiags((2.0, -1.0, -1.0), (0, 1, -1), n)
L = kron(T, speye(n)) + kron(speye(n), T)
U = L + kron(spdiags((0.4, -0.4), (1, -1), n), speye(n))
N = L - 4.1 * speye(n * n)
b = sin(iota(n * n) + 1.0)
near(x, y) = norm(x - y) / norm(y)
# Cholesky, LU of either kind, symmetric but indefinite
for A in list(L, U, N, U', -1 * L) { print(near(A @ linsolve(A, b), b) < 1e-12) }
#> true
#> true
#> true
#> true
#> true
for m in list("auto", "klu", "umfpack") {
  print(near(U @ linsolve(factor(U; method = m), b), b) < 1e-12, near(U' @ linsolve(factor(U'; method = m), b), b) < 1e-12)
}
#> true true
#> true true
#> true true
near(L @ linsolve(factor(L; method = "cholmod"), b), b) < 1e-12      #> true
# several right-hand sides at once
B = stack(b, cos(b); axis = 1)
near(L @ linsolve(L, B), B) < 1e-12  #> true
near(U @ linsolve(factor(U; method = "umfpack"), B), B) < 1e-12      #> true

# One factorisation serves all of these: the value, the gradient with respect to
# b (a solve with the transpose), and that with respect to the elements (two
# more).
c = cos(iota(n * n) + 0.5)
before = factorisations()
V = 1.5 * U
F = factor(V)
x = linsolve(F, b)
for k in 0..5 { x = x + linsolve(F, b + k) }
g = grad(b -> c @ linsolve(F, b))(b)
e = grad(v -> c @ linsolve((...V, values = v), b))(V.values)
after = factorisations()
after[0] - before[0]         #> 1
after[1] - before[1] >= 8    #> true
near(V' @ g, c) < 1e-12      #> true
# with respect to the elements: -(A^-T c) x', by each method
y = linsolve(V, b)
near(e, -g[V.rows] * y[V.columns]) < 1e-12   #> true
direct(p) = c @ linsolve(p * U, b)
for m in list("klu", "umfpack") {
  f = p -> c @ linsolve(factor(p * U; method = m), b)
  print(abs(f'(1.5) / (-direct(1.5) / 1.5) - 1) < 1e-12, abs(grad(f)(1.5) / (-direct(1.5) / 1.5) - 1) < 1e-12,
    abs(f''(1.5) / (2 * direct(1.5) / 1.5^2) - 1) < 1e-10)
}
#> true true true
#> true true true
(p -> c @ linsolve(p * L, b))''(1.5)    #~ 2 * (c @ linsolve(L, b)) / 1.5^3 tol 1e-9
map(p -> c @ linsolve(p * L, b), [1.0, 2])   #~ (c @ linsolve(L, b)) * [1, 0.5] tol 1e-9

# dense
D = dense(T) + 0.1 * outer(b[..n], c[..n])
G = factor(D)
near(D @ linsolve(G, b[..n]), b[..n]) < 1e-12        #> true
grad(b -> c[..n] @ linsolve(G, b))(b[..n])   #~ linsolve(D', c[..n]) tol 1e-12
grad(p -> c[..n] @ linsolve(factor(p * D), b[..n]))(2.0)     #~ -(c[..n] @ linsolve(D, b[..n])) / 4 tol 1e-10

# Least squares: tall, wide, derivatives against dense ones, and the reuse of
# one factorisation.
i = concat(iota(20), iota(20), iota(20))
j = concat(iota(20) % 7, (3 * iota(20) + 1) % 7, (iota(20) // 3) % 7)
S(v) = sparse(i, j, v, 20, 7)
v = 1.3 + sin(iota(60) * 1.7)
w = cos(iota(20) * 0.9)
lstsq(S(v), w)               #~ lstsq(dense(S(v)), w) tol 1e-11
lstsq(S(v)', w[..7])         #~ pinv(dense(S(v))') @ w[..7] tol 1e-11
grad(v -> sum(lstsq(S(v), w)^2))(v)  #~ grad(v -> sum(lstsq(dense(S(v)), w)^2))(v) tol 1e-9
grad(w -> sum(lstsq(S(v), w)^2))(w)  #~ grad(w -> sum(lstsq(dense(S(v)), w)^2))(w) tol 1e-10
grad(v -> sum(lstsq(S(v)', w[..7])^2))(v)    #~ grad(v -> sum(lstsq(dense(S(v))', w[..7])^2))(v) tol 1e-9
(p -> sum(lstsq(S(v + p * sin(v)), w)^2))''(0.3)     #~ (p -> sum(lstsq(dense(S(v + p * sin(v))), w)^2))''(0.3) tol 1e-8
lstsq(S(v), stack(w, 2w; axis = 1))[.., 1]   #~ 2 * lstsq(S(v), w) tol 1e-12
try { str(lstsq(sparse([0, 1, 2], [0, 0, 0], [1.0, 1, 1], 3, 2), ones(3))) } catch m { contains(m, "linearly dependent") }  #> true
try { str(linsolve(sparse([0, 1], [0, 0], [1.0, 1], 2, 2), ones(2))) } catch m { contains(m, "singular") }   #> true
try { str(linsolve(factor(N; method = "cholmod"), b)) } catch m { contains(m, "not positive definite") }     #> true

# condition numbers within a factor of 3, and valid error bounds
q = conditioning(D, linsolve(D, b[..n]), b[..n])
q.condition <= 1.0000001 * cond(D, 1) and q.condition > cond(D, 1) / 3       #> true
q.residual < 1e-15           #> true
H = hilbert_matrix(8)
q = conditioning(H, linsolve(H, ones(8)), ones(8))
q.condition <= 1.0000001 * cond(H, 1) and q.condition > cond(H, 1) / 3       #> true
q = conditioning(L, linsolve(L, b), b)
q.condition <= 1.0000001 * norm(L, 1) * norm(inv(L), 1) and q.condition > norm(L, 1) * norm(inv(L), 1) / 3   #> true
