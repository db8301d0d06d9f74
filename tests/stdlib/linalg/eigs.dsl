# Some eigenvalues of sparse matrices, against closed forms and dense
# decompositions; derivatives in both modes.

T = spdiags((2.0, -1.0, -1.0), (0, 1, -1), 100)
(w, V) = eigsh(T, 3; sigma = 0.0)
w #~ 2 - 2cos(π * [1, 2,3] / 101) tol 1e-10
norm(T @ V - V * w) #~ 0 tol 1e-10
(w, V) = eigsh(T, 3; which = "LA")
w #~ 2 + 2cos(π * [3,2,1] / 101) tol 1e-10
S = spdiags((2.0, -1.0, -3.0), (0, 1, -1), 50)
(w, V) = eigs(S, 2; which = "LR");
real(w)                       #~ 2 + 2sqrt(3) * cos(π * [1, 2] / 51) tol 1e-7
R = spdiags((2.0, -1.0, 3.0), (0, 1, -1), 50)
(w, V) = eigs(R, 3; sigma = 2.0)
norm(dense(R) @ V - V * w) #~ 0 tol 1e-9
f(p) = eigsh(spdiags((2.0 + p * sin(iota(40)), -1.0, -1.0), (0, 1, -1), 40), 3; sigma = -1.0)
g(p) = eigh(diag(2.0 + p * sin(iota(40))) - eye(40; k = 1) - eye(40; k = -1))
f(0.3)[0]  #~ g(0.3)[0][..3] tol 1e-11
(p -> f(p)[0])'(0.3) #~ (p -> g(p)[0][..3])'(0.3) tol 1e-10
(p -> f(p)[1]^2)'(0.3) #~ (p -> g(p)[1][.., ..3]^2)'(0.3) tol 1e-9
(p -> f(p)[0])''(0.3) #~ (p -> g(p)[0][..3])''(0.3) tol 1e-8
h(p) = real(eigs(spdiags((2.0 + p * sin(iota(40)), -1.0, -3.0), (0, 1, -1), 40), 3; which = "LR")[0])
hd(p) = sort(real(eigvals(diag(2.0 + p * sin(iota(40))) - eye(40; k = 1) - 3eye(40; k = -1))); descending = true)[..3]
h(0.3)  #~ hd(0.3) tol 1e-7
h'(0.3)  #~ hd'(0.3) tol 1e-6
try { str(eigsh(S, 2)[0]) } catch m { contains(m, "not symmetric") }  #> true
try { str(eigsh(T, 100)[0]) } catch m { contains(m, "fewer") }  #> true
# Reverse mode: the smallest eigenvalue of a tridiagonal matrix of 2 and -1,
# with respect to either number, in closed form.
tridiagonal(p) = spdiags((p[0] + zeros(40), p[1] + zeros(39), p[1] + zeros(39)), (0, 1, -1), 40)
grad(p -> eigsh(tridiagonal(p), 2; sigma = 0.0)[0][0])([2.0, -1.0])    #~ [1, 2cos(π / 41)] tol 1e-9
# Eigenvectors in reverse mode, of first and second order, against the dense
# decomposition (eigh), and forward against reverse mode.
weights = cos(3.0 * iota(20))
diagonal = 0.4 * iota(20) + 0.3 * sin(iota(20) * 2.0)
by_sparse(a) = { (w, V) = eigsh(spdiags((a, 0.5 + zeros(19), 0.5 + zeros(19)), (0, 1, -1), 20), 3; which = "SA"); sum((weights @ V)^2 * [1.0, 2, 3]) + w[1]^2 }
by_dense(a) = { (w, V) = eigh(diag(a) + 0.5eye(20; k = 1) + 0.5eye(20; k = -1)); sum((weights @ V[.., ..3])^2 * [1.0, 2, 3]) + w[1]^2 }
by_sparse(diagonal)           #~ by_dense(diagonal) tol 1e-10
grad(by_sparse)(diagonal)     #~ grad(by_dense)(diagonal) tol 1e-8
hvp(by_sparse, diagonal, weights)   #~ hvp(by_dense, diagonal, weights) tol 1e-6
check_grad(by_sparse, diagonal).reverse_forward   #~ 0 tol 1e-10

# wrong arguments are reported at the call
try { eigsh([1.0, 2]) } catch m { m }       #> eigsh takes a matrix, not a vector
try { to_sparse([1.0, 2]) } catch m { m }   #> to_sparse takes a matrix, not a vector
try { eigs(eye(3)) } catch m { m }
#> eigs takes a sparse matrix, as to_sparse(A) makes one; eig(A) gives all eigenvalues of one with its zeros
try { dense([1.0, 2; 3, 4]) } catch m { m }
#> dense takes a sparse matrix, not a matrix; to_sparse(A) makes one of a matrix
try { nnz(2.0) } catch m { m }
#> nnz takes a sparse matrix, not a number; to_sparse(A) makes one of a matrix
try { cg([1.0, 2], [1.0, 2]) } catch m { m }    #> cg takes a matrix, not a vector
try { searchsorted(2.0, 1.0) } catch m { m }    #> searchsorted takes a vector, not a number
