# Linear algebra and its derivatives; Fourier transforms. Oracle: closed forms
# and defining equations.
A = [4.0, 1; 2, 3]
b = [1.0, 2]
linsolve(A, b)               #~ [0.1, 0.6]
A @ linsolve(A, b)           #~ b
linsolve(A, [1, 0; 0, 1])    #~ [0.3, -0.1; -0.2, 0.4]
inv(A)                       #~ [0.3, -0.1; -0.2, 0.4]
det(A)                       #~ 10
det([0, 1; 1, 0])            #~ -1
det([1, 2; 2, 4])            #~ 0
(L, U, p) = lu(A)
L @ U                        #~ A[p]
S = [4.0, 1; 1, 3]
C = cholesky(S)
C @ C'                       #~ S
(Q, R) = qr(A)
Q @ R                        #~ A
Q' @ Q                       #~ eye(2)
(w, V) = eigh(S)
V @ diag(w) @ V'             #~ S
w[0] < w[1]                  #> true
(U, s, W) = svd(A)
U @ diag(s) @ W'             #~ A
s[0] > s[1]                  #> true
(λ, X) = eig(A)
sort(real(λ))                #~ [2, 5]
A @ X                        #~ X @ diag(λ)
trisolve(C, b)               #~ linsolve(C, b)
trisolve(C, b; adjoint = true)       #~ linsolve(C', b)
lstsq([1, 0; 1, 1; 1, 2], [1, 2, 3]) #~ [1, 1]
norm([3, 4])                 #> 5.0
trace(A)                     #> 7.0

# Derivatives against closed forms.
grad(A -> sum(linsolve(A, b)))(A)    #~ -outer(linsolve(A', [1, 1]), linsolve(A, b)) tol 1e-13
grad(b -> sum(linsolve(A, b)^2))(b)  #~ linsolve(A', 2linsolve(A, b)) tol 1e-13
grad(det)(A)                 #~ det(A) * inv(A)' tol 1e-12
grad(A -> log(det(A)))(A)    #~ inv(A)' tol 1e-13
grad(A -> sum(inv(A)))(A)    #~ -inv(A)' @ ones(2, 2) @ inv(A)' tol 1e-13
# Only the lower triangle is read: the upper triangle's derivatives are added to
# it.
lower(G) = where(expand(iota(2), 1) > expand(iota(2), 0), G + G', G * eye(2))
grad(S -> sum(eigh(S)[0] * [1, 2]))(S)       #~ lower(V @ diag([1, 2]) @ V') tol 1e-13
grad(A -> sum(svd(A)[1] * [1, 2]))(A)        #~ U @ diag([1, 2]) @ W' tol 1e-13
grad(S -> sum(log(diag(cholesky(S)))))([4.0, 1; 1, 3])       #~ 0.5 * [3, 0; -2, 4] / 11 tol 1e-12
(t -> linsolve([2.0 + t, 1; 1, 3], [1, 1])[0])'(0.0)         #~ -6/25
(t -> linsolve([2.0 + t, 1; 1, 3], [1, 1])[0])''(0.0)        #~ 36/125
taylor(t -> det([2.0 + t, 1; 1, 3 + t]), 0.0, 3)     #~ [5, 5, 1, 0]
(t -> det([2.0 + t, 1; 1, 3 + t]))'(0.0)     #~ 5
det([1.0, 2; 2, 4])          #~ 0
grad(det)([1.0, 2; 2, 4])    #~ [4, -2; -2, 1]
grad(det)([0, 1; 1, 0])      #~ [0, -1; -1, 0]
isnan(det([nan, 2; 2, 4]))   #> true

# Non-finite elements give NaN throughout, whatever LAPACK would return, and are
# no pivot for cholesky.
spoilt(n, x) = { A = ones(n, n) + 3eye(n); A[1, 0] = x; A }
lost(x) = all(isnan(real(x)))
nothing(A) = lost(eigh(A)[0]) and lost(eigh(A)[1]) and lost(eig(A)[0]) and lost(eig(A)[1]) and
  lost(svd(A)[0]) and lost(svd(A)[1]) and lost(svd(A)[2])
eigh([nan, 2; 2, 4])[0]              #> [nan, nan]
eigh([1, nan; 0, 2])[0]              #> [1, 2]
nothing(spoilt(3, nan)) and nothing(spoilt(3, inf)) and nothing(spoilt(40, nan)) and nothing(spoilt(40, -inf))     #> true
nothing(spoilt(3, nan) + 0im) and nothing(1im * spoilt(3, -inf)) and nothing(f32(spoilt(3, nan)))  #> true
lost(svd([1, 2; nan, 4; 5, 6])[0]) and lost(svd([1, 2; nan, 4; 5, 6])[2])    #> true
map(A -> eigh(A)[0], reshape([2, 0, 0, 3, nan, 0, 0, 3], 2, 2, 2))   #~ [2, 3; nan, nan]
try { cholesky(spoilt(3, nan)) } catch m { m }       #> the matrix is not positive definite (pivot 1 of 3)
try { cholesky(spoilt(40, nan)) } catch m { m }      #> the matrix is not positive definite (pivot 1 of 40)
grad(A -> det(A)^2)([1.0, 2; 2, 5])  #~ [10, -4; -4, 2]
map(det, [1.0, 2; 2, 4] * reshape([1, 2], 2, 1, 1) + [0, 0; 0, 1])   #~ [1, 2]
check(f, x, tol) = { c = check_grad(f, x); c.reverse_forward < 1e-12 and c.differences < tol }
M = [5.0, 1, 0.5; 1, 4, 0.2; 0.3, 0.1, 6]
check(A -> sum(linsolve(A, [1, 2, 3])^2), M, 1e-9)   #> true
check(A -> sum(cholesky(A @ A' + eye(3))), M, 1e-8)  #> true
check(A -> sum(qr(A)[1]^2), M, 1e-8)         #> true
check(A -> sum(qr(A)[0] * M), M, 1e-8)       #> true
check(A -> sum(eigh(A + A')[0]^3), M, 1e-8)  #> true
check(A -> sum(svd(A)[1]^2), M, 1e-8)        #> true
check(A -> sum(inv(A) @ [1, 2, 3]), M, 1e-8) #> true
hessian(x -> sum(linsolve([x[0], 1; 1, x[1]], [1, 1])))([3.0, 4])    #~ hessian(x -> (x[0] + x[1] - 2) / (x[0] * x[1] - 1))([3.0, 4]) tol 1e-12
map(t -> det([t, 1; 1, 2]), [1.0, 3])        #~ [1, 5]
map(v -> linsolve(A, v), [1.0, 2; 4, 1])     #~ [0.1, 0.6; 1.1, -0.4]
map(B -> inv(B), [1.0, 0; 0, 2] * reshape([1, 2], 2, 1, 1))  #~ [[1, 0; 0, 0.5], [0.5, 0; 0, 0.25]]

# Fourier transforms.
fft([1, 0, 0, 0])            #~ [1, 1, 1, 1]
fft([1, 1, 1, 1])            #~ [4, 0, 0, 0]
ifft(fft([1, 2, 3]))         #~ [1, 2, 3]
x = sin(iota(12) * 0.7)
norm(fft(x))^2 / 12          #~ norm(x)^2
fft([1, 2; 3, 4]; axis = 0)  #~ [4, 6; -2, -2]
fft([1, 2; 3, 4])            #~ [3, -1; 7, -1]
grad(x -> sum(abs(fft(x))^2))([1.0, 2, 3])   #~ [6, 12, 18]
grad(x -> real(fft(x)[1]))([1.0, 2, 3])      #~ [1, -0.5, -0.5]
jacobian(x -> real(ifft(fft(x))))([1.0, 2])  #~ eye(2)
conv(a, b) = real(ifft(fft(a) * fft(b)))
conv([1, 2, 0, 0], [1, 3, 0, 0])     #~ [1, 5, 6, 0]
grad(a -> sum(conv(a, [1, 3, 0, 0]) * [1, 2, 3, 4]))([1.0, 2, 0, 0]) #~ [7, 11, 15, 7]

# Products of each sample's own matrices, and of one matrix with itself.
As = rand(5, 9, 8)
Bs = rand(5, 8, 10)
map((a, b) -> a @ b, As, Bs)[3]      #~ As[3] @ Bs[3]
map((a, b) -> b' @ a', As, Bs)[4]    #~ (As[4] @ Bs[4])'
map(a -> a @ a', As)[4]      #~ As[4] @ As[4]'
map((a, b) -> tanh(a @ (b + 1)), As, Bs)[0]  #~ tanh(As[0] @ (Bs[0] + 1))
grad(c -> sum(map((a, b) -> sum((a @ c @ b)^2), As, Bs)))(rand(8, 8))[2, 3] > 0      #> true
T = rand(203, 197)
(T' @ T)[150, 3]     #~ dot(T[.., 150], T[.., 3])
(T' @ T)[3, 150]     #~ dot(T[.., 150], T[.., 3])
(T @ T')[202, 202]   #~ dot(T[202], T[202])

# R without Q is the same R: of one matrix, of a batch, of a complex one.
only(A) = qr(A)[1]
(Q, R) = qr(randn(30, 8))
norm(only(Q @ R) - R) < 1e-13 * norm(R)  #> true
stack_ = randn(4, 9, 3)
max(abs(map(only, stack_) - stack(...map(k -> { (Q, R) = qr(stack_[k]); 0 * sum(Q) + R }, list(0, 1, 2, 3))))) < 1e-13  #> true
C = randn(7, 4) + 1im * randn(7, 4)
(Q, R) = qr(C)
norm(only(C) - Q' @ C) < 1e-13 and norm(Q @ R - C) < 1e-13  #> true
# Also for a matrix so large that it is factored by panels; the matrix must not
# change.
A = randn(700, 301)
B = A + 0.0
max(abs(only(A)' @ only(A) - A' @ A)) < 1e-11 and min(diag(only(A))) > 0 and all(A == B)  #> true
# R is bit-identical with and without Q.
(Q, R) = qr(A)
norm(Q @ R - A) < 1e-10 and norm(Q' @ Q - eye(301)) < 1e-11 and all(R == only(A))  #> true
C = A[.., ..90] + 1im * A[.., 100..190]
(Q, R) = qr(C)
norm(Q @ R - C) < 1e-10 and all(R == only(C))  #> true
