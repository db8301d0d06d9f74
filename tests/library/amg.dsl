# Smoothed aggregation as a preconditioner: iterations that do not grow, symmetry, adjoints, derivatives.

line(n) = spdiags((2.0, -1.0, -1.0), (0, 1, -1), n)
plane(n) = kron(line(n), speye(n)) + kron(speye(n), line(n))
steps(A, M) = cg(A, sin(1.0 + iota(len(A.row_start) - 1)); preconditioner = M, report = true).iterations
for n in list(16, 32, 64) { A = plane(n); print(steps(A, amg(A)) <= 12) }
#> true
#> true
#> true
# the solution is that of sparse Cholesky factors
A = plane(40);
b = sin(1.0 + iota(1600));
cg(A, b; tol = 1e-12, preconditioner = amg(A))       #~ linsolve(A, b) tol 1e-9
# three directions, more levels, another smoother, two levels
space = kron(line(12), speye(144)) + kron(speye(12), plane(12));
[steps(space, amg(space)), steps(A, amg(A; levels = 4)), steps(A, amg(A; levels = 2)), steps(A, amg(A; sweeps = 3)), steps(A, amg(A; strength = 0.0))] <= 16        #> [true, true, true, true, true]
# coefficients that jump by a thousand, and one direction that is strong
i = iota(40 * 40)
k = where((i // 40 > 12) and (i % 40 > 20), 1000.0, 1.0)
edge(a, c, w) = sparse(concat(a, c, a, c), concat(a, c, c, a), concat(w, w, -w, -w), 1600, 1600)
right = i[i % 40 < 39]
down = i[i // 40 < 39]
mean2(a, c) = 2 * k[a] * k[c] / (k[a] + k[c])
J = edge(right, right + 1, mean2(right, right + 1)) + edge(down, down + 40, mean2(down, down + 40)) + 0.1 * speye(1600);
steps(J, amg(J)) < 40        #> true
steps(J, none) > 3 * steps(J, amg(J))        #> true
S = kron(line(40), speye(40)) + 0.001 * kron(speye(40), line(40));
steps(S, amg(S)) < 25        #> true
steps(S, none) > 3 * steps(S, amg(S))        #> true
# the vector that A makes smallest, where it is not constant: a scaled problem
D = spdiags((1 + 0.9 * cos(1.0 * iota(1600)),), (0,), 1600);
B = D @ A @ D;
scaled = amg(B; near_null = 1 / (1 + 0.9 * cos(1.0 * iota(1600))), strength = 0.0);
steps(B, scaled) < 20        #> true
# symmetric, positive, and its own adjoint where A is; with convection the adjoint is another
M = amg(A)
u = cos(2.0 * iota(1600));
abs(u @ M.apply(b) - b @ M.apply(u)) < 1e-12 * abs(u @ M.apply(u))   #> true
M.adjoint(u)         #~ M.apply(u) tol 1e-12
u @ M.apply(u) > 0   #> true
C = A + 0.2 * kron(spdiags((1.0, -1.0), (0, -1), 40), speye(40));
N = amg(C)
abs(u @ N.apply(b) - b @ N.adjoint(u)) < 1e-12 * abs(u @ N.apply(u))         #> true
r = gmres(C, b; preconditioner = N, report = true);
(r.iterations < 20, max(abs(r.x - linsolve(C, b))) < 1e-7)   #> (true, true)
max(abs(bicgstab(C, b; preconditioner = N) - linsolve(C, b))) < 1e-7         #> true
max(abs(minres(A, b; tol = 1e-12, preconditioner = M) - linsolve(A, b))) < 1e-7      #> true
# derivatives are those of the solution
f(p) = { K = plane(20) + p * speye(400); sum(cg(K, ones(400); tol = 1e-13, preconditioner = amg(K))^2) }
h(p) = { K = plane(20) + p * speye(400); sum(linsolve(K, ones(400))^2) }
f'(0.3)      #~ h'(0.3) tol 1e-6
grad(f)(0.3) #~ h'(0.3) tol 1e-6
f''(0.3) / h''(0.3)  #~ 1 tol 1e-7
# small ones, and what it does not take
cg(line(3), [1.0, 2, 3]; preconditioner = amg(line(3)))      #~ linsolve(line(3), [1.0, 2, 3]) tol 1e-12
try { kind(amg(sparse([0, 1], [1, 0], [1.0, 1], 2, 2))) } catch m { m }      #> amg: there is a 0 on the diagonal
try { kind(amg(sparse([0, 1], [0, 1], [1.0, 1], 2, 3))) } catch m { m }      #> amg takes a square matrix, not one of 3 rows and 2 columns
