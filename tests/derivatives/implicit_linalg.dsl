# Eigenvalues, singular values, pseudo-inverses, least squares and solves as
# implicit functions: derivatives up to fourth order in each mode, and their
# operation counts. Oracle: closed forms.

at = 0.3
# [1 t; t -1]: ±√(1 + t²).
S(t) = [1.0, t; t, -1.0]
top(t) = eigh(S(t))[0][1]
taylor(top, at, 4)           #~ taylor(t -> sqrt(1 + t^2), at, 4) tol 1e-12
top''''(at)                  #~ (t -> sqrt(1 + t^2))''''(at) tol 1e-11
grad(grad(grad(grad(top))))(at)      #~ (t -> sqrt(1 + t^2))''''(at) tol 1e-11
grad(top)'''(at)             #~ (t -> sqrt(1 + t^2))''''(at) tol 1e-11
# A general matrix: the eigenvalues of [t 1; t² 2t] are t(3 ± √5)/2.
G(t) = [t, 1.0; t^2, 2t]
most(t) = max(real(eig(G(t))[0]))
taylor(most, 0.7, 3)         #~ [0.7, 1, 0, 0] * (3 + √5) / 2 tol 1e-11
most''''(0.7)                #~ 0 tol 1e-8
grad(grad(grad(most)))(0.7)  #~ 0 tol 1e-9
turn(t) = [1.0, -t^2 - 1; 1, 0]       # a complex pair
angle_of(t) = max(imag(eig(turn(t))[0]))
taylor(angle_of, 1.0, 4)     #~ taylor(t -> 0.5sqrt(4t^2 + 3), 1.0, 4) tol 1e-11
grad(grad(grad(angle_of)))(1.0)      #~ (t -> 0.5sqrt(4t^2 + 3))'''(1.0) tol 1e-11
# Singular values: those of [1 t; 0 1] are √(1 + t²/4) ± t/2.
largest(t) = svd([1.0, t; 0.0, 1.0])[1][0]
taylor(largest, at, 4)       #~ taylor(t -> sqrt(1 + t^2 / 4) + t / 2, at, 4) tol 1e-12
largest''''(at)              #~ (t -> sqrt(1 + t^2 / 4))''''(at) tol 1e-11
grad(grad(grad(grad(largest))))(at)  #~ (t -> sqrt(1 + t^2 / 4))''''(at) tol 1e-11
# Vectors: the projector on an eigenspace does not depend on their signs.
project(t) = { v = eigh(S(t))[1][.., 1]; outer(v, v) }
by_hand(t) = 0.5 * (eye(2) + S(t) / sqrt(1 + t^2))
taylor(project, at, 4)       #~ taylor(by_hand, at, 4) tol 1e-12
project'''(at)               #~ by_hand'''(at) tol 1e-11
hessian(t -> project(t[0] * t[1])[0, 1])([0.5, 0.6])         #~ hessian(t -> by_hand(t[0] * t[1])[0, 1])([0.5, 0.6]) tol 1e-12
# Equal eigenvalues: a quantity that does not depend on the choice of a basis
# has its first derivatives.
powers(M) = sum(eigh(M)[0]^3)
grad(powers)(eye(3))         #~ 3eye(3) tol 1e-14
grad(M -> sum(svd(M)[1]))(eye(3))    #~ eye(3) tol 1e-14
# Batches.
map(top', [0.1, 0.3])        #~ map(t -> t / sqrt(1 + t^2), [0.1, 0.3]) tol 1e-13
grad(ts -> sum(map(top, ts)^2))([0.1, 0.3])  #~ [0.2, 0.6] tol 1e-13

# The pseudo-inverse. Oracle: (M'M)⁻¹M'.
A = [1.0, 2; 3, 4.5; 5, 6.1]
B = [0.3, -0.2; 0.1, 0.7; 0.5, 0.2]
b = [1.0, -2, 0.5]
P(t) = pinv(A + t*B + t^2*B^2)
normal(t) = { M = A + t*B + t^2*B^2; inv(M' @ M) @ M' }
taylor(P, 0.1, 4)            #~ taylor(normal, 0.1, 4) tol 1e-9
grad(M -> sum(pinv(M)^2))(A) #~ grad(M -> sum((inv(M' @ M) @ M')^2))(A) tol 1e-9
hessian(v -> sum(pinv(reshape(v, 3, 2))^2))(ravel(A))        #~ hessian(v -> { M = reshape(v, 3, 2); sum((inv(M' @ M) @ M')^2) })(ravel(A)) tol 1e-7
grad(t -> grad(grad(t -> sum(P(t))))(t))(0.1)        #~ (t -> sum(normal(t)))'''(0.1) tol 1e-8
# Constant rank below both extents.
Q(t) = pinv(outer([1.0 + t, 2, t^2], [3.0, t]))
q(t) = outer([3.0, t], [1.0 + t, 2, t^2]) / (sum([1.0 + t, 2, t^2]^2) * sum([3.0, t]^2))
taylor(Q, 0.5, 3)            #~ taylor(q, 0.5, 3) tol 1e-11
pinv(zeros(2, 3))            #~ zeros(3, 2)
Z = A + 1im*B
grad(M -> sum(abs(pinv(M))^2))(Z)    #~ grad(M -> sum(abs(inv(M' @ M) @ M')^2))(Z) tol 1e-8
# Least squares. Oracle: the normal equations.
L(t) = lstsq(A + t*B, b + t^2*b^2)
l(t) = { M = A + t*B; linsolve(M' @ M, M' @ (b + t^2*b^2)) }
taylor(L, 0.1, 4)            #~ taylor(l, 0.1, 4) tol 1e-9
L''''(0.1)                   #~ l''''(0.1) tol 1e-7
hessian(v -> sum(lstsq(reshape(v, 3, 2), b)^2))(ravel(A))    #~ hessian(v -> { M = reshape(v, 3, 2); sum(linsolve(M' @ M, M' @ b)^2) })(ravel(A)) tol 1e-8
grad(M -> sum(abs(lstsq(M, b))^2))(Z)        #~ grad(M -> sum(abs(linsolve(M' @ M, M' @ b))^2))(Z) tol 1e-8
grad(ts -> sum(map(L, ts)))([0.1, 0.2])      #~ grad(ts -> sum(map(l, ts)))([0.1, 0.2]) tol 1e-10
lstsq(A, [1.0, 2; 3, 4; 5, 6])       #~ linsolve(A' @ A, A' @ [1.0, 2; 3, 4; 5, 6]) tol 1e-11

# Solves: closed forms by Cramer's rule.
M(t) = [2 + t, t^2; -t, 3.0]
x(t) = linsolve(M(t), [1, t])
cramer(t) = [3 - t^3, (2 + t) * t + t] / (3 * (2 + t) + t^3)
taylor(x, at, 5)             #~ taylor(cramer, at, 5) tol 1e-13
x''''(at)                    #~ cramer''''(at) tol 1e-11
grad(grad(grad(grad(t -> sum(x(t))))))(at)   #~ (t -> sum(cramer(t)))''''(at) tol 1e-11
grad(det)(M(at))                  #~ transpose(inv(M(at))) * det(M(at))
(t -> det(M(t)))'''(at)      #~ (t -> 3 * (2 + t) + t^3)'''(at) tol 1e-11
grad(grad(grad(t -> det(M(t)))))(at)         #~ 6 tol 1e-11
taylor(t -> inv(M(t)), at, 4)        #~ taylor(t -> [3, -t^2; t, 2 + t] / (3 * (2 + t) + t^3), at, 4) tol 1e-12
C(t) = [2 + t, 1im * t^2; -t, 3.0 + 0im]
taylor(t -> linsolve(C(t), [1, t]), at, 3)   #~ taylor(t -> [3 - 1im*t^3, (2 + t)*t + t] / (3 * (2 + t) + 1im*t^3), at, 3) tol 1e-13
grad(w -> abs(linsolve([w, 1; 1, 3], [1.0, 2])[0])^2)(2.0 + 1im)     #~ grad(w -> abs(1 / (3w - 1))^2)(2.0 + 1im) tol 1e-13
map(t -> x''(t), [0.1, 0.3]) #~ map(t -> cramer''(t), [0.1, 0.3]) tol 1e-12
grad(bs -> sum(map(b -> linsolve(M(at), b)[0], bs)))([1.0, 2; 3, 4]) #~ [1; 1] * inv(M(at))[0] tol 1e-13
grad(T -> sum(map(t -> linsolve(T + t * eye(2), [1.0, 2]), [0.1, 0.2])^2))(M(at))    #~ grad(T -> sum(map(t -> inv(T + t * eye(2)) @ [1.0, 2], [0.1, 0.2])^2))(M(at)) tol 1e-12
# With stored factors a gradient costs little more than the solve, and a
# Hessian-vector product two solves more.
n = 30
R = randn(n, n) + 10eye(n)
v = randn(n)
f(R) = sum(linsolve(R, v)^2)
cost(grad(f), R) / cost(f, R) < 1.25         #> true
cost(R -> jvp(f, R, R)[1], R) / cost(f, R) < 1.25    #> true
cost(R -> hvp(f, R, R), R) / cost(f, R) < 1.9        #> true
g(R) = sum(lstsq(R, v)^2)
cost(grad(g), R) / cost(g, R) < 2            #> true
