# Krylov methods and preconditioners, against direct solutions. Derivatives with
# respect to right-hand side, elements and captured values.

# five-point Laplacian with advection, on a grid of 12 by 12
n = 12
T = spdiags((2.0, -1.0, -1.0), (0, 1, -1), n)
L = kron(T, speye(n)) + kron(speye(n), T)
W = kron(spdiags((0.4, -0.4), (1, -1), n), speye(n))
A = L + W
b = sin(iota(n * n) + 1.0)
near(x, y) = norm(x - y) / norm(y)
x = linsolve(L, b)
z = linsolve(A, b)
near(cg(L, b), x) < 1e-8     #> true
near(minres(L, b), x) < 1e-8 #> true
near(gmres(A, b), z) < 1e-8  #> true
near(gmres(A, b; restart = 5, steps = 3000), z) < 1e-8       #> true
near(bicgstab(A, b), z) < 1e-8       #> true
near(minres(L - 3.3 * speye(n * n), b), linsolve(L - 3.3 * speye(n * n), b)) < 1e-7      #> true
near(gmres(dense(A), b), z) < 1e-8   #> true
near(bicgstab(v -> A @ v, b), z) < 1e-8      #> true
# preconditioners: fewer iterations, the same solution
r = cg(L, b; report = true)
s = cg(L, b; preconditioner = ichol0(L), report = true)
near(s.x, x) < 1e-8          #> true
3 * s.iterations < 2 * r.iterations  #> true
s.residual < 1e-10           #> true
r = gmres(A, b; report = true)
s = gmres(A, b; preconditioner = ilu0(A), report = true)
near(s.x, z) < 1e-8          #> true
3 * s.iterations < r.iterations * 2  #> true
near(bicgstab(A, b; preconditioner = ilu0(A)), z) < 1e-8     #> true
near(minres(L, b; preconditioner = jacobi_preconditioner(L)), x) < 1e-8      #> true
# without fill-in, incomplete factors are exact
B = spdiags((4.0, -1.0, -2.0), (0, 1, -1), 40)
near(ilu0(B).apply(b[..40]), linsolve(B, b[..40])) < 1e-13   #> true
near(ilu0(B).adjoint(b[..40]), linsolve(B', b[..40])) < 1e-13        #> true
# the factor of a matrix given by its lower half
C = spdiags((4.0, -1.0), (0, -1), 40)
S = spdiags((4.0, -1.0, -1.0), (0, 1, -1), 40)
near(ichol0(C).apply(b[..40]), linsolve(S, b[..40])) < 1e-13 #> true
# complex
D = dense(B) + 1im * diag(ones(40))
near(gmres(D, b[..40] + 0im), linsolve(D, b[..40] + 0im)) < 1e-9     #> true
near(bicgstab(D, b[..40] + 0im), linsolve(D, b[..40] + 0im)) < 1e-9  #> true
H = dense(S) + 1im * (eye(40; k = 1) - eye(40; k = -1))
near(cg(H, b[..40] + 0im), linsolve(H, b[..40] + 0im)) < 1e-9        #> true
near(minres(H, b[..40] + 0im), linsolve(H, b[..40] + 0im)) < 1e-9    #> true

# Derivatives with respect to the right-hand side, elements and captured values;
# of second order.
c = cos(iota(n * n) + 0.5)
grad(b -> c @ gmres(A, b; tol = 1e-12))(b)   #~ linsolve(A', c) tol 1e-9
grad(b -> c @ bicgstab(A, b; tol = 1e-12, preconditioner = ilu0(A)))(b)      #~ linsolve(A', c) tol 1e-9
direct(p) = c @ linsolve(L + p * W, b)
by_gmres(p) = c @ gmres(L + p * W, b; tol = 1e-12)
by_function(p) = c @ gmres(v -> L @ v + p * (W @ v), b; tol = 1e-12)
by_gmres'(1.5)               #~ direct'(1.5) tol 1e-8
grad(by_gmres)(1.5)          #~ direct'(1.5) tol 1e-8
grad(by_function)(1.5)       #~ direct'(1.5) tol 1e-8
by_function''(1.5)           #~ direct''(1.5) tol 1e-7
grad(grad(by_gmres))(1.5)    #~ direct''(1.5) tol 1e-7
grad(p -> c @ minres(L + (p - 5) * speye(n * n), b; tol = 1e-12))(1.5)       #~ grad(p -> c @ linsolve(L + (p - 5) * speye(n * n), b))(1.5) tol 1e-6
map(p -> by_gmres(p), [0.5, 1.0])    #~ [direct(0.5), direct(1.0)] tol 1e-8

# failure to converge is reported
try { str(gmres([0.0, 1; 0, 0], [1.0, 1])) } catch m { contains(m, "gmres") }        #> true
try { str(bicgstab(A, b; steps = 3)) } catch m { contains(m, "after 3 steps") }      #> true
try { str(cg([1.0, 0; 0, -1], [1.0, 1])) } catch m { contains(m, "positive definite") }      #> true
try { kind(ichol0(to_sparse([1.0, 2; 2, 1]))) } catch m { contains(m, "pivot 1") }   #> true
# a singular matrix and a right-hand side outside its range
refused(A, b) = try { str(minres(A, b)) } catch m { contains(m, "is the matrix what") }
refused([1.0, 0; 0, 0], [1.0, 1])             #> true
refused([1.0, 1; 1, 1], [2.0, 0])             #> true
refused(to_sparse([1.0, -1, 0; -1, 2, -1; 0, -1, 1]), [1.0, 1, 1])            #> true
minres([1.0, 1; 1, 1], [2.0, 2])              #~ [1, 1]
