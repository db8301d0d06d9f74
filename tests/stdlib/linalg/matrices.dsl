# The library's linear algebra beyond factorisations: matrix functions, norms,
# ranks, special matrices, iterative solutions. Oracles: identities, closed
# forms, series, and finite differences.
A = [4.0, 1, 0.5; 2, 3, 1; 0.3, 0.2, 5]
S = A @ A' / 10 + eye(3)
check(f, x) = { c = check_grad(f, x); c.reverse_forward < 1e-11 and c.differences < 1e-7 }
W = [1.0, -2, 3; 0.5, 1, -1; 2, 0.3, 0.7]
all_orders(f, t) = (f'(t), f''(t))

# determinants
slogdet(A)                   #~ (1, log(det(A)))
slogdet(-A)                  #~ (-1, log(det(A)))
slogdet([1.0, 2; 2, 4])      #> (0.0, -inf)
slogdet([0, 1; 1, 0])        #> (-1.0, 0.0)
slogdet(1im * A)[1]          #~ log(det(A))
slogdet(1im * A)[0]          #~ -1im
logdet(S)                    #~ log(det(S))
logdet(-S)                   #> nan
logdet(1e-3 * eye(200))      #~ 200log(1e-3) tol 1e-9
grad(logdet)(S)              #~ inv(S)' tol 1e-12
hessian(t -> logdet(S + t[0] * A))([0.1])[0, 0]      #~ -trace(inv(S + 0.1A) @ A @ inv(S + 0.1A) @ A) tol 1e-11
map(logdet, stack(S, 2S))    #~ [logdet(S), logdet(S) + 3log(2)]

# powers, exponential, square root, logarithm
matrix_power([1, 1; 1, 0], 50)[0, 1] #> 12586269025
matrix_power(A, 0)           #~ eye(3)
matrix_power(A, -3) @ A @ A @ A      #~ eye(3) tol 1e-12
grad(A -> sum(W * matrix_power(A, 3)))(A)    #~ A' @ A' @ W + A' @ W @ A' + W @ A' @ A' tol 1e-10
series(A) = { T = eye(3); R = T; for k in 1..80 { T = T @ A / k; R = R + T }; R }
expm(A)                      #~ series(A) tol 1e-12
expm(-A) @ expm(A)           #~ eye(3) tol 1e-12
expm(5A) / norm(expm(5A))    #~ matrix_power(expm(A), 5) / norm(expm(5A)) tol 1e-12
expm(zeros(2, 2))            #~ eye(2)
expm([0, 3; 0, 0])           #~ [1, 3; 0, 1]
expm(diag([1, 2, -30.0]))    #~ diag(exp([1, 2, -30.0])) tol 1e-13
expm(1im * S) @ expm(1im * S)'       #~ eye(3) tol 1e-12
grad(t -> expm(t * A)[0, 1])(0.5)    #~ (A @ expm(0.5A))[0, 1] tol 1e-12
all_orders(t -> sum(W * expm(t * A)), 0.3)   #~ (sum(W * (A @ expm(0.3A))), sum(W * (A @ A @ expm(0.3A)))) tol 1e-10
check(A -> sum(W * expm(A / 4)), A)          #> true
map(expm, stack(A, 2A))[1]   #~ expm(2A) tol 1e-10
sqrtm(A) @ sqrtm(A)          #~ A tol 1e-13
sqrtm(S)                     #~ eigh(S)[1] @ diag(sqrt(eigh(S)[0])) @ eigh(S)[1]'
sqrtm([2im, 1; 0, 4])        #~ [1 + 1im, 1 / (3 + 1im); 0, 2]
sqrtm(1e8 * A) @ sqrtm(1e-8 * A)     #~ A tol 1e-12
check(A -> sum(W * real(sqrtm(A))), A)       #> true
all_orders(t -> real(sqrtm(t * S)[0, 1]), 2.0)     #~ (sqrtm(S)[0, 1] / (2sqrt(2)), -sqrtm(S)[0, 1] / (8sqrt(2))) tol 1e-11
logm(expm(A))                #~ A tol 1e-12
expm(logm(A))                #~ A tol 1e-12
logm(2eye(3))                #~ log(2) * eye(3)
trace(logm(A))               #~ log(det(A)) tol 1e-12
check(A -> sum(W * real(logm(A))), A)      #> true
grad(A -> trace(real(logm(A))))(A) #~ inv(A)' tol 1e-11

# norms and ranks
norm([3, 4im])               #~ 5
norm([1.0, -2, 3], 3)        #~ 36^(1/3)
norm([0.0, -2, 3], 0)        #> 2.0
norm([1.0, -2, 3], -inf)     #> 1.0
norm([1, -2; 3, 4], 1)       #> 6.0
norm([1, -2; 3, 4], inf)     #> 7.0
norm([1, -2; 3, 4], "fro")   #~ sqrt(30)
norm([3.0, 0; 0, -4], "nuc") #~ 7
norm([3.0, 0; 0, -4], 2)     #~ 4
norm([3.0, 0; 0, -4], -2)    #~ 3
norm([1, 2; 3, 4], 1; axis = 1)      #> [3, 7]
grad(x -> norm(x, 3))([1.0, 2])      #~ [1, 4] / 9^(2/3)
check(A -> norm(A, "nuc") + norm(A, 2), A)   #> true
normalize([3.0, 4; 6, 8]; axis = 1)  #~ [0.6, 0.8; 0.6, 0.8]
cond(A)                      #~ norm(A, 2) * norm(inv(A), 2) tol 1e-12
cond(A, 1)                   #~ norm(A, 1) * norm(inv(A), 1)
cond(hilbert_matrix(6))             #~ 14951058.6424659 tol 1e-6
[cond(zeros(3, 3)), cond([0.0, 0; 0, 1]), cond(zeros(2, 2), 1), cond([1.0, 2; 2, 4], "fro")]   #> [inf, inf, inf, inf]
matrix_rank(outer([1.0, 2, 3], [1.0, 1]))    #> 1
matrix_rank(A)               #> 3
matrix_rank([1.0, 0; 0, 1e-8]; rtol = 1e-6)  #> 1
B = [1.0, 2, 3, 4; 2, 4, 6, 8; 0, 1, 0, 1]
N = null_space(B)
shape(N)                     #> (4, 2)
B @ N                        #~ zeros(3, 2) tol 1e-13
N' @ N                       #~ eye(2)
Q = orth(B)
Q @ Q' @ B                   #~ B tol 1e-13
shape(Q)                     #> (3, 2)
shape(null_space(A))         #> (3, 0)
# Moler and van Loan's example: eigenvalues -1 and -17
M = [-49.0, 24; -64, 31]
expm(M)                      #~ (exp(-1) * (M + 17eye(2)) - exp(-17) * (M + eye(2))) / 16 tol 1e-12
lstsq([1.0, 1, 0; 0, 0, 1], [2.0, 3])        #~ [1, 1, 3]

# special matrices
kron([1, 2], [1, 0; 0, 1] @ [1, 10])         #> [1, 10, 2, 20]
kron(A, eye(2)) @ kron(W, [1.0, 2; 3, 4])    #~ kron(A @ W, [1.0, 2; 3, 4]) tol 1e-12
grad(A -> sum(kron(A, W)))(A)        #~ sum(W) * ones(3, 3)
block_diag(([1, 2], 3 * [1; 1], [1im, 2; 3, 4]))[0, 1]       #~ 2
shape(block_diag((A, B)))    #> (6, 7)
toeplitz([1, 2im])           #~ [1, -2im; 2im, 1]
hankel([1, 2], [2, 3, 4])    #> [[1, 2, 3], [2, 3, 4]]
circulant([1.0, 2, 3]) @ [4.0, 5, 6]         #~ real(ifft(fft([1, 2, 3]) * fft([4, 5, 6])))
vander([2.0, 3]; increasing = true)  #> [[1, 2], [1, 3]]
grad(x -> sum(vander(x, 4)))([0.0, 2])       #~ [1, 17]
eigvalsh(toeplitz([2, -1, 0, 0]))    #~ 2 - 2cos([1, 2, 3, 4] * π/5)

# conjugate gradients
b = [1.0, 2, 3]
cg(S, b)                     #~ linsolve(S, b) tol 1e-9
cg(x -> S @ x, b; tol = 1e-13)       #~ linsolve(S, b) tol 1e-12
cg(S, b; tol = 1e-13, preconditioner = r -> r / diag(S))     #~ linsolve(S, b) tol 1e-12
cg(S, 0 * b)                   #> [0, 0, 0]
grad(b -> sum(cg(S, b; tol = 1e-13)^2))(b)   #~ linsolve(S, 2linsolve(S, b)) tol 1e-10
check(S -> sum(cg(S @ S', b; tol = 1e-14)^2), A)     #> true
grad(c -> sum(cg(x -> c * (S @ x), b; tol = 1e-13)))(2.0)    #~ -sum(linsolve(S, b)) / 4 tol 1e-10
hessian(c -> sum(cg(x -> c[0] * (S @ x), b; tol = 1e-13)))([2.0])    #~ [sum(linsolve(S, b)) / 4] tol 1e-9
map(b -> cg(S, b; tol = 1e-13), [1.0, 2, 3; 4, 5, 6])[1]     #~ linsolve(S, [4, 5, 6]) tol 1e-10
try { cg([1.0, 0; 0, -1], [1.0, 2])[0] } catch m { -1.0 }    #> -1.0
try { cg(A, b; steps = 2)[0] } catch m { -1.0 }      #> -1.0

# sparse matrices with the same operators
P = spdiags((-2, 1, 1), (0, 1, -1), 5)
Z = spdiags(([1.0, 2, 3], 7), (-1, 2), 4, 5)
dense(Z)                     #> [[0, 0, 7, 0, 0], [1, 0, 0, 7, 0], [0, 2, 0, 0, 7], [0, 0, 3, 0, 0]]
dense(P @ P)                 #~ dense(P) @ dense(P)
dense(Z @ P)                 #~ dense(Z) @ dense(P)
dense(Z @ Z')                #~ dense(Z) @ dense(Z)'
nnz(speye(5) @ P)            #> 13
dense(kron(speye(2), P))     #~ kron(eye(2), dense(P))
dense(kron(P, speye(3)) + kron(speye(5), [1, 2, 0; 0, 3, 0; 4, 0, 0]))       #~ kron(dense(P), eye(3)) + kron(eye(5), [1, 2, 0; 0, 3, 0; 4, 0, 0])
dense(to_sparse(W))          #~ W
kind(to_sparse(P))           #> sparse
laplace2 = kron(P, speye(5)) + kron(speye(5), P)
cg(-1 * laplace2, ones(25); tol = 1e-13)     #~ linsolve(-1 * laplace2, ones(25)) tol 1e-11
grad(v -> sum(dense(spdiags((v, 1), (0, 1), 3) @ spdiags((v,), (0,), 3))))([1.0, 2, 3])      #~ [2, 5, 7]
grad(v -> sum(spdiags((v, -1, -1), (0, 1, -1), 4) @ [1.0, 2, 3, 4]))([4.0, 4, 4, 4])         #~ [1, 2, 3, 4]
grad(c -> cg(spdiags((c, -1, -1), (0, 1, -1), 4), ones(4); tol = 1e-14)[0])(4.0)     #~ (c -> linsolve(c * eye(4) - eye(4; k = 1) - eye(4; k = -1), ones(4))[0])'(4.0) tol 1e-11
grad(v -> sum(to_sparse(v) @ [1.0, 2]))([1.0, 0; 0, 3])      #~ [1, 0; 0, 2]

# elements, sums and norms of a sparse matrix
R = sparse([0, 1, 1, 2], [0, 0, 1, 2], [2.0, 1, 4, 5], 3, 4)
D = dense(R)
(R[1, 0], R[0, 1], R[-1, 2]) #> (1.0, 0.0, 5.0)
R[1, ..]                     #~ D[1]
R[.., 0]                     #~ D[.., 0]
dense(R[1.., ..2])           #~ D[1.., ..2]
dense(R[[2, 0, 2], ..])      #~ D[[2, 0, 2]]
dense(R[.. by -1, 1..3])     #~ D[.. by -1, 1..3]
dense(R * R)                 #~ D * D
dense(R * sparse([1, 2], [1, 3], [3.0, 1], 3, 4))    #~ dense(sparse([1], [1], [12.0], 3, 4))
(sum(R), norm(R), norm(R, 1), norm(R, inf))          #~ (12, sqrt(46), 5, 5)
sum(R; axis = 0)             #~ sum(D; axis = 0)
sum(R; axis = -1)            #~ sum(D; axis = 1)
diag(R)                      #~ [2, 4, 5]
diagonal(R; k = -1)          #~ [1, 0]
diagonal(R; k = 2)           #~ [0, 0]
trace(P)                     #~ -10
dense(transpose(1im * R))    #~ 1im * transpose(D)
dense(matrix_power(P, 3))    #~ dense(P) @ dense(P) @ dense(P)
grad(v -> sum(sparse([0, 1], [1, 0], v, 2, 2)[0, ..]^2))([3.0, 4])   #~ [6, 0]
kron([1, 2; 3, 4], [1, 2])   #> [[1, 2, 2, 4], [3, 6, 4, 8]]
(len(R), size(R), rank(R), dtype(R)) #> (3, 12, 2, "f64")
inv(P)                       #~ inv(dense(P))

# ---- large blocked factorisations and solves; real and complex, and failures

seed(11)
size = 701
large = randn(size, size)
large_complex = randn(460, 460) + 1im * randn(460, 460)
factors_fit(a) = { (l, u, p) = lu(a); max(abs(a[p] - l @ u)) < 1e-11 and max(abs(l * (iota(shape(l)[0])[.., none] < iota(shape(l)[0])))) == 0.0 }
factors_fit(large)          #> true
factors_fit(large_complex)  #> true
positive(a) = a @ a' + 10 * eye(rows(a))
rows(a) = shape(a)[0]
root_fits(s) = { l = cholesky(s); max(abs(s - l @ l')) < 1e-9 and max(abs(l * (iota(shape(l)[0])[.., none] < iota(shape(l)[0])))) == 0.0 }
root_fits(positive(large))          #> true
root_fits(positive(large_complex))  #> true
# four kinds of triangular solves, through solves and their gradients
solved(a, b) = max(abs(a @ linsolve(a, b) - b)) < 1e-7 * max(abs(linsolve(a, b)))
solved(large, randn(size, 650))          #> true
solved(large_complex, randn(460, 330) + 0im)  #> true
weights_large = randn(size, 650)
right_large = randn(size, 650)
pulled = grad(b -> sum(weights_large * linsolve(large, b)))(right_large)
max(abs(large' @ pulled - weights_large)) < 1e-7 * max(abs(pulled))  #> true
singular = large
singular[.., 600] = 0
try { linsolve(singular, large)[0, 0] } catch e { e }  #> the matrix is singular (pivot 600 of 701)
(try { cholesky(large + large' )[0, 0] } catch e { e })[..35]  #> the matrix is not positive definite
spoiled = positive(large)
spoiled[650, 650] = nan
try { cholesky(spoiled)[0, 0] } catch e { e }  #> the matrix is not positive definite (pivot 650 of 701)

# the diagonal of a rectangular matrix
trace([1.0, 2; 3, 4; 5, 6])     #> 5.0
trace([1.0, 2, 3; 4, 5, 6])     #> 6.0
grad(trace)([1.0, 2; 3, 4; 5, 6])   #> [[1, 0], [0, 1], [0, 0]]


# without elements, and with rank 0
shape(toeplitz(zeros(0)))       #> (0, 0)
shape(hankel(zeros(0)))         #> (0, 0)
shape(null_space(zeros(3, 0)))  #> (0, 0)
null_space(zeros(0, 2))         #> [[1, 0], [0, 1]]
shape(orth(zeros(3, 0)))        #> (3, 0)
shape(pinv(zeros(3, 0)))        #> (0, 3)
shape(expm(zeros(0, 0)))        #> (0, 0)
matrix_rank(zeros(0, 3))        #> 0
lstsq(zeros(3, 0), zeros(3))    #> []
(cond(zeros(2, 2)), cond([1.0, 2; 2, 4], 1))    #> (inf, inf)
(x -> cond([x, 2; 2, 5.0], 1))'(1.0)    #~ -245
try { cond(zeros(0, 0)) } catch m { m }         #> cond: the matrix has no elements
try { cond([1.0, 2]) } catch m { m }            #> cond takes a matrix, not a vector
try { null_space([1.0, 2]) } catch m { m }      #> null_space takes a matrix, not a vector
try { expm([1.0, 2]) } catch m { m }            #> expm takes a matrix, not a vector
try { expm(zeros(2, 3)) } catch m { m }         #> expm takes a square matrix, not one of 2 by 3
try { inv(2.0) } catch m { m }                  #> inv takes a matrix, not a number
try { kron(2.0, [1.0, 2]) } catch m { m }       #> kron takes a matrix, not a number
try { toeplitz(2.0) } catch m { m }             #> toeplitz takes a vector, not a number

# derivatives of exponentials of small matrices, and of 0
turning(t) = expm(t * [0.0, 1; -1, 0])
turning''(0.0)                  #~ [-1, 0; 0, -1]
turning''''(0.0)                #~ [1, 0; 0, 1]
turning''(1e-200)               #~ [-1, 0; 0, -1]
turning'''(0.5)                 #~ [sin(0.5), -cos(0.5); cos(0.5), sin(0.5)]
