# Derivatives of functions of whole decompositions with equal or almost equal
# eigenvalues or singular values: of every order, in every mode, with respect to
# scalars and matrices.
# | Oracles: V g(D) V' has the derivatives of the matrix function g(A), and
# sum(g(w)) those of its trace. For A = c + t B with scalar A at t = 0 these are
# Taylor series, g(c) + g'(c) t B + g''(c)/2 t^2 B^2 ... Other oracles are given
# in place.

S = [0.0, 1; 1, 0]
f(t) = { (w, V) = eigh([3.0, 0; 0, 3] + t*S); sum(V @ diag(w) @ V') }
f'(0.0)                       #~ 2
grad(f)(0.0)                  #~ 2
jvp(f, 0.0, 1.0)[1]           #~ 2
f''(0.0)                      #~ 0 tol 1e-10
f(0.0)                        #~ 6
f'(0.5)                       #~ 2
taylor(f, 0.0, 2)             #~ [6, 2, 0] tol 1e-10
vjp(f, 0.0)[1](1.0)           #~ 2
g(t) = { (w, V) = eigh([1.0, 0; 0, 1 + 1e-14] + t*S); sum(V @ diag(w^2) @ V') }
g'(0.0)                       #~ 4 tol 1e-11
g''(0.0)                      #~ 4 tol 1e-9
hessian(g)(0.0)               #~ 4 tol 1e-9
h(t) = sum(exp(eigvalsh([1.0, 0; 0, 1] + t*S)))
h'(0.0)                       #~ 0 tol 1e-12
h''(0.0)                      #~ 2*exp(1) tol 1e-10
hessian(h)(0.0)               #~ 2*exp(1) tol 1e-10
grad(grad(h))(0.0)            #~ 2*exp(1) tol 1e-10
h''''(0.0)                    #~ 2*exp(1) tol 1e-5
k(t) = sum(eigvalsh([2.0, 0; 0, 2] + t*S)^3)
k''(0.0)                      #~ 24 tol 1e-10

# Functions of a matrix with a triple eigenvalue and another one, in the
# direction of a matrix B that does not commute with it.
B = [1.0, 2, 0, 1; 2, -1, 1, 3; 0, 1, 2, 1; 1, 3, 1, 0]
A = diag([2.0, 2, 2, 5])
function_of(g, A) = { (w, V) = eigh(A); (V * expand(g(w), 0)) @ V' }
root(t) = function_of(sqrt, A + t*B)
# R R = A: R' R + R R' = B, and R'' R + 2 R' R' + R R'' = 0
R1 = { r = sqrt(diag(A)); B / (expand(r, 1) + r) }
R2 = { r = sqrt(diag(A)); -2*(R1 @ R1) / (expand(r, 1) + r) }
jvp(root, 0.0, 1.0)[1]        #~ R1 tol 1e-11
root'(0.0)                    #~ R1 tol 1e-11
root''(0.0)                   #~ R2 tol 1e-9
# The gradient with respect to all elements, in reverse mode. For a symmetric
# matrix, the lower triangle is read.
W = [1.0, 2, 3, 4; 2, 0, 1, 1; 3, 1, 5, 2; 4, 1, 2, 1]
weighed(M) = sum(function_of(sqrt, 0.5*(M + M'))*W)
grad(weighed)(A)              #~ { r = sqrt(diag(A)); W / (expand(r, 1) + r) } tol 1e-11
hessian(t -> weighed(A + t*B))(0.0)  #~ sum(R2*W) tol 1e-9
hvp(weighed, A, B)            #~ grad(M -> sum(grad(weighed)(M)*B))(A) tol 1e-9
sum(hvp(weighed, A, B)*B)     #~ sum(R2*W) tol 1e-9
# against functions without a decomposition
e1(t) = sum(function_of(exp, A + t*B)*W)
e2(t) = sum(expm(A + t*B)*W)
[e1'(0.0), e1''(0.0)]         #~ [e2'(0.0), e2''(0.0)] tol 1e-10
e1'''(0.0)                    #~ e2'''(0.0) tol 1e-6
logs(t) = sum(log(eigvalsh(A + t*B)))
dets(t) = logdet(A + t*B)
[logs'(0.0), logs''(0.0)]     #~ [dets'(0.0), dets''(0.0)] tol 1e-10
hessian(logs)(0.0)            #~ dets''(0.0) tol 1e-10
inverse(t) = sum(function_of(w -> 1/w, A + t*B)*W)
[inverse'(0.0), inverse''(0.0)]   #~ { u = t -> sum(inv(A + t*B)*W); [u'(0.0), u''(0.0)] } tol 1e-10
# All equal: the identity. The gradient with respect to all elements is the
# derivative of the scalar function.
grad(M -> sum(exp(eigvalsh(M))))(eye(3))     #~ exp(1)*eye(3) tol 1e-11
# the projector on two equal eigenvalues, beside another
P(t) = { (w, V) = eigh(diag([1.0, 1, 4]) + t*[1.0, 2, 3; 2, 1, 1; 3, 1, 0]); sum(V[.., ..2] @ V[.., ..2]' * [1.0, 2, 3; 4, 5, 6; 7, 8, 9]) }
P'(0.0)                       #~ -(3*(3 + 7) + 1*(6 + 8))/3 tol 1e-11
# nested decompositions
two(t) = sum(function_of(exp, function_of(sqrt, eye(2) + t*S)))
two'(0.0)                     #~ exp(1) tol 1e-10
# Hermitian
c(t) = { (w, V) = eigh([2 + 0im, 0; 0, 2] + t*[0, 1im; -1im, 1]); real(sum(V @ diag(exp(w)) @ adjoint(V) * [1, 1im; -1im, 2])) }
c'(0.0)                       #~ 0 tol 1e-10
c''(0.0)                      #~ 3*exp(2) tol 1e-9
# in a map, where some batch elements have equal eigenvalues
map(h'', [0.0, 0.5])          #~ [2*exp(1), 2*exp(1)*cosh(0.5)] tol 1e-10
map(t -> grad(f)(t), [0.0, 1.0])     #~ [2, 2]
grad(x -> sum(map(h, x)))([0.0, 0.5])    #~ [0, 2*exp(1)*sinh(0.5)] tol 1e-11
jacobian(x -> [h(x[0]), f(x[1])])([0.0, 0.0])    #~ [0, 0; 0, 2] tol 1e-11

# singular values: U s V' is the matrix
s(t) = { (U, s, V) = svd([1.0, 0; 0, 1] + t*[1.0, 2; 3, 5]); sum((U @ diag(s) @ V')*[1.0, 2; 3, 4]) }
s'(0.0)                       #~ 34 tol 1e-11
s''(0.0)                      #~ 0 tol 1e-8
grad(s)(0.0)                  #~ 34 tol 1e-11
# The polar factor U V' of 1 + t X rotates by the skew part of X: with X = [1,
# 2; 3, 5] that is (X - X')/2.
q(t) = { (U, s, V) = svd(eye(2) + t*[1.0, 2; 3, 5]); sum((U @ V')*[1.0, 2; 3, 4]) }
q'(0.0)                       #~ -0.5*2 + 0.5*3 tol 1e-11
# sums of singular values and of their squares, for a matrix that is not square
n(t) = sum(svdvals([2.0, 0, 0; 0, 2, 0] + t*[1.0, 2, 3; 4, 5, 6]))
n'(0.0)                       #~ 6 tol 1e-11
m(t) = sum(svdvals([2.0, 0, 0; 0, 2, 0] + t*[1.0, 2, 3; 4, 5, 6])^2)
m''(0.0)                      #~ 2*91 tol 1e-9
grad(M -> sum(svdvals(M)^2))(eye(3)[..2])    #~ 2*eye(3)[..2] tol 1e-11

# Nonsmooth functions have no derivative there: one of several equal
# eigenvalues, one eigenvector. Distinct eigenvalues have their own.
isnan((t -> eigvalsh(eye(2) + t*S)[1])'(0.0))    #> true
isnan((t -> eigh(eye(2) + t*[1.0, 2; 2, 0])[1][0, 0])'(0.0))   #> true
(t -> eigvalsh(diag([1.0, 1, 4]) + t*[1.0, 2, 3; 2, 1, 1; 3, 1, 7])[2])'(0.0)    #~ 7 tol 1e-11
isnan(grad(M -> norm(M, 2))(eye(2))[0, 0])       #> true
# values are unaffected
jvp(h, 0.0, 1.0)[0]           #~ 2*exp(1)
# Close but distinct values have their own derivatives, whether or not the whole
# is smooth.
(t -> eigvalsh([1.0, 0; 0, 1 + 1e-5] + t*S)[1])''(0.0)      #~ 2e5 tol 1e-6
(t -> eigvalsh([1.0, 0; 0, 1 + 1e-5] + t*S)[1])'(0.0)       #~ 0 tol 1e-10
(t -> sum(svdvals([1.0, 0; 0, 1e-4] + t*S)))'(0.0)          #~ 0 tol 1e-10
grad(M -> sum(svdvals(M)))([1.0, 0; 0, 1e-4])               #~ eye(2) tol 1e-10
# rank deficiency: singular values that equal 0
z(t) = { (U, s, V) = svd([1.0, 0; 0, 0; 0, 0] + t*[1.0, 2; 3, 5; 7, 11]); sum((U @ diag(s) @ V')*[1.0, 2; 3, 4; 5, 6]) }
z'(0.0)                       #~ 1 + 4 + 9 + 20 + 35 + 66 tol 1e-10
grad(z)(0.0)                  #~ 135 tol 1e-10
z2(t) = { (U, s, V) = svd(zeros(3, 2) + t*[1.0, 2; 3, 5; 7, 11]); sum((U @ diag(s) @ V')*[1.0, 2; 3, 4; 5, 6]) }
z2'(0.0)                      #~ 135 tol 1e-10
isnan(grad(M -> sum(svdvals(M)))([1.0, 0; 0, 0])[1, 1])     #> true
grad(M -> svdvals(M)[0])([2.0, 0; 0, 0])     #~ [1, 0; 0, 0] tol 1e-10
# General matrices: sums of eigenvalues have first derivatives; nothing else has
# where they are equal.
(t -> real(sum(eigvals(eye(2) + t*[1.0, 2; 3, 4]))))'(0.0)  #~ 5
isnan((t -> real(sum(exp(eigvals(eye(2) + t*[1.0, 2; 3, 4])))))''(0.0))    #> true
# batched, after a map, and in f32
As = stack(eye(2), diag([1.0, 3]))
grad(As -> sum(map(A -> sum(exp(eigvalsh(A))), As)))(As)  #~ stack(exp(1)*eye(2), diag([exp(1), exp(3)])) tol 1e-11
hb(As) = sum(map(A -> { (w, V) = eigh(A); sum(V @ diag(w^2) @ V') }, As))
hessian(t -> hb(As + t*[0, 1.0; 1, 0]))(0.0) #~ 8 tol 1e-9
hs(As) = sum(map(A -> { (U, s, V) = svd(A); sum(U @ diag(s) @ V') }, As))
grad(hs)(As) #~ ones(2, 2, 2) tol 1e-10
f32_(t) = { (w, V) = eigh(f32([3.0, 0; 0, 3]) + t*f32([0.0, 1; 1, 0])); sum(V @ diag(w) @ V') }
f32_'(f32(0.0)) #~ 2 tol 1e-4
dtype(f32_'(f32(0.0))) #> f32
