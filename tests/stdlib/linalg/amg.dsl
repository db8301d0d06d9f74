# Smoothed aggregation as a preconditioner: bounded iteration counts, symmetry,
# adjoints, derivatives.
# As users run it only: compiling all of it takes long.

line(n) = spdiags((2.0, -1.0, -1.0), (0, 1, -1), n)
plane(n) = kron(line(n), speye(n)) + kron(speye(n), line(n))
steps(A, M) = cg(A, sin(1.0 + iota(len(A.row_start) - 1)); preconditioner = M, report = true).iterations
# with enough levels that most of the work is on coarse ones
for n in list(16, 32, 64, 128) { A = plane(n); print(steps(A, amg(A; coarsest = 100)) <= 14) }
#> true
#> true
#> true
#> true
M = amg(plane(64); coarsest = 100);
(len(M.sizes) >= 3, M.sizes[0], M.sizes[-1] <= 100, M.sizes[1] < 1000, M.complexity < 1.6)     #> (true, 4096, true, true, true)
amg(plane(20)).sizes         #> [400]
# Oracle: sparse Cholesky factorisation.
A = plane(40);
b = sin(1.0 + iota(1600));
cg(A, b; tol = 1e-12, preconditioner = amg(A))       #~ linsolve(A, b) tol 1e-9
# three dimensions, more levels, another smoother, two levels
space = kron(line(12), speye(144)) + kron(speye(12), plane(12));
[steps(space, amg(space)), steps(A, amg(A; levels = 4)), steps(A, amg(A; levels = 2)), steps(A, amg(A; sweeps = 3)), steps(A, amg(A; strength = 0.0))] <= 16        #> [true, true, true, true, true]
# coefficients that jump by a thousand, and anisotropy
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
# A near null space that is not constant: a scaled problem.
D = spdiags((1 + 0.9 * cos(1.0 * iota(1600)),), (0,), 1600);
B = D @ A @ D;
scaled = amg(B; near_null = 1 / (1 + 0.9 * cos(1.0 * iota(1600))), strength = 0.0);
steps(B, scaled) < 20        #> true
# Symmetric, positive, and self-adjoint where A is; with convection the adjoint
# differs.
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
# derivatives of the solution
f(p) = { K = plane(20) + p * speye(400); sum(cg(K, ones(400); tol = 1e-13, preconditioner = amg(K))^2) }
h(p) = { K = plane(20) + p * speye(400); sum(linsolve(K, ones(400))^2) }
f'(0.3)      #~ h'(0.3) tol 1e-6
grad(f)(0.3) #~ h'(0.3) tol 1e-6
f''(0.3) / h''(0.3)  #~ 1 tol 1e-7
# ---- elasticity: a plate of bilinear elements, held on one side
# With the rigid body modes and without.
n = 24
# the stiffness of one element, by Gauss points of order 2: λ = μ = 1
shape_slopes(ξ, η) = [-(1 - η), 1 - η, -η, η; -(1 - ξ), -ξ, 1 - ξ, ξ]
element() = {
  K = zeros(8, 8)
  for a in 0..2 {
    for b in 0..2 {
      g = shape_slopes(0.5 + (a - 0.5) / sqrt(3.0), 0.5 + (b - 0.5) / sqrt(3.0))
      B = [(if i % 2 == 0 { if r == 0 { g[0, i // 2] } else { if r == 2 { g[1, i // 2] } else { 0.0 } } } else { if r == 1 { g[1, i // 2] } else { if r == 2 { g[0, i // 2] } else { 0.0 } } }) for r in 0..3, i in 0..8]
      K = K + 0.25 * B' @ [3.0, 1, 0; 1, 3, 0; 0, 0, 1] @ B
    }
  }
  K
}
cells = iota(n * n)
corner = cells // n * (n + 1) + cells % n
dofs = [2 * (corner[e] + [0, 1, n + 1, n + 2][i // 2]) + i % 2 for e in 0..n * n, i in 0..8]
N = 2 * (n + 1)^2
E = element()
whole = sparse(ravel([dofs[e, i] for e in 0..n * n, i in 0..8, j in 0..8]), ravel([dofs[e, j] for e in 0..n * n, i in 0..8, j in 0..8]), ravel([E[i, j] for e in 0..n * n, i in 0..8, j in 0..8]), N, N);
places = [if d == 0 { 1.0 * (i // 2 % (n + 1)) } else { 1.0 * (i // 2 // (n + 1)) } for i in 0..N, d in 0..2]
R = rigid_modes(places, iota(N) % 2);
shape(R)                     #> (1250, 3)
max(abs(whole @ R)) < 1e-12  #> true
free = findall(places[.., 0] > 0)
K = whole[free, free];
plain = amg(K; coarsest = 100)
rigid = amg(K; coarsest = 100, near_null = R[free], nodes = free // 2)
(steps(K, rigid) < 25, steps(K, plain) > 1.5 * steps(K, rigid))      #> (true, true)
cg(K, ones(len(free)); tol = 1e-12, preconditioner = rigid)  #~ linsolve(K, ones(len(free))) tol 1e-6
# Columns that are linearly dependent on an aggregate are dropped there; here
# every mode is given twice.
steps(K, amg(K; coarsest = 100, near_null = concat(R[free], R[free]; axis = 1), nodes = free // 2)) == steps(K, rigid)     #> true
# rows without couplings are in no aggregate
lone = kron(spdiags((concat([1.0], zeros(1)),), (0,), 2), plane(40)) + kron(spdiags((concat([0.0], ones(1)),), (0,), 2), 3.0 * speye(1600));
(amg(lone; coarsest = 500).sizes[1] < 400, steps(lone, amg(lone; coarsest = 500)) < 15)    #> (true, true)
# ---- small matrices, and refusals
cg(line(3), [1.0, 2, 3]; preconditioner = amg(line(3)))      #~ linsolve(line(3), [1.0, 2, 3]) tol 1e-12
try { kind(amg(sparse([0, 1], [1, 0], [1.0, 1], 2, 2))) } catch m { m }      #> amg: there is a 0 on the diagonal
try { kind(amg(sparse([0, 1], [0, 1], [1.0, 1], 2, 3))) } catch m { m }      #> amg takes a square matrix, not one of 3 rows and 2 columns
try { kind(amg(plane(5); near_null = ones(3))) } catch m { m }       #> amg: near_null has 3 numbers for 25 unknowns
try { kind(amg(plane(5); nodes = [0, 1])) } catch m { m }    #> amg: nodes has 2 numbers for 25 unknowns
try { kind(amg(plane(5); levels = 1)) } catch m { m }        #> amg takes two levels or more
try { kind(amg(plane(5); sweeps = 0)) } catch m { m }        #> amg takes one sweep or more
