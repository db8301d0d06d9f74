# Derivatives of determinants, which are polynomials, at singular, almost
# singular and regular matrices. Oracle: the coefficients of det(A + t B), by
# expansion in minors (computed exactly with sympy).

d(t) = det([1.0, 2, 3; 2, 4, 6; 3, 6, 9] + t*[1.0, 0, 2; 0, 3, 1; 1, 1, 4])
# 13 t^2 + 5 t^3
d'(0.0)                       #~ 0
d''(0.0)                      #~ 26
d'''(0.0)                     #~ 30
grad(d)(0.0)                  #~ 0
hessian(d)(0.0)               #~ 26
jvp(d', 0.0, 1.0)[1]          #~ 26
grad(t -> grad(d)(t))(0.0)    #~ 26
grad(t -> grad(grad(d))(t))(0.0)    #~ 30
taylor(d, 0.0, 4)             #~ [0, 0, 13, 5, 0]
d(2.0)                        #~ 52 + 40
d'(2.0)                       #~ 52 + 60
d''''(2.0)                    #~ 0

# almost singular: det(A) + 2.00000000000002 t + 2 t^2
n(t) = det([1.0, 1; 1, 1 + 1e-14] + t*[2.0, 1; 0, 1])
n''(0.0)                      #~ 4
hessian(n)(0.0)               #~ 4
n'''(0.0)                     #~ 0

# a matrix of ones, rank 1 of 4: 10 t^3 + 25 t^4
B = [2.0, 1, 0, 3; 1, 4, 1, 0; 0, 2, 5, 1; 1, 0, 1, 3]
o(t) = det(ones(4, 4) + t*B)
o'(0.0)                       #~ 0
o''(0.0)                      #~ 0 tol 1e-13
o'''(0.0)                     #~ 60
o''''(0.0)                    #~ 600
grad(o)(0.0)                  #~ 0
hessian(o)(0.0)               #~ 0 tol 1e-13
grad(t -> grad(grad(o))(t))(0.0)    #~ 60
taylor(o, 0.0, 5)             #~ [0, 0, 0, 10, 25, 0]
# rank 0, and 3 of 4
z(t) = det(zeros(4, 4) + t*B)
z''''(0.0)                    #~ 600
z'''(0.0)                     #~ 0
C = [1.0, 2, 0, 1; 0, 1, 1, 0; 1, 3, 1, 1; 2, 0, 1, 1]
# Oracle: the polynomial det(C + tB), interpolated at five points by LU.
c(t) = det(C + t*B)
fit_(f) = linsolve([1.0, 1, 1, 1; -1, 1, -1, 1; 2, 4, 8, 16; -2, 4, -8, 16], [f(1.0), f(-1.0), f(2.0), f(-2.0)])
taylor(c, 0.0, 4)[1..]        #~ fit_(c) tol 1e-12
[grad(c)(0.0), hessian(c)(0.0)/2]    #~ fit_(c)[..2] tol 1e-12

# With respect to all elements: the gradient is the matrix of cofactors, the
# Hessian that of minors.
grad(det)(ones(4, 4))         #~ zeros(4, 4)
grad(det)([2.0, 0, 0, 0; 0, 3, 0, 0; 0, 0, 4, 0; 0, 0, 0, 0])    #~ [0, 0, 0, 0; 0, 0, 0, 0; 0, 0, 0, 0; 0, 0, 0, 24]
Z = [2.0, 0, 0, 0; 0, 3, 0, 0; 0, 0, 0, 0; 0, 0, 0, 0]
H = hessian(det)(Z)
(H[2, 2, 3, 3], H[2, 3, 3, 2], H[0, 0, 1, 1], H[0, 0, 2, 2])     #~ (6, -6, 0, 0)
# almost singular, n = 4, second derivatives: one diagonal element is 1e-13
Y = [2.0, 0, 0, 0; 0, 3, 0, 0; 0, 0, 1e-13, 0; 0, 0, 0, 1]
K = hessian(det)(Y)
(K[2, 2, 3, 3], K[2, 2, 0, 0], K[0, 0, 1, 1])    #~ (6, 3, 1e-13) tol 1e-12
# far from singular
grad(det)([1.0, 2, 0, 1; 0, 1, 1, 0; 1, 3, 2, 1; 2, 0, 1, 1])    #~ det([1.0, 2, 0, 1; 0, 1, 1, 0; 1, 3, 2, 1; 2, 0, 1, 1])*transpose(inv([1.0, 2, 0, 1; 0, 1, 1, 0; 1, 3, 2, 1; 2, 0, 1, 1]))
# a graded matrix, by the product of its diagonal
g(t) = det(diag([1.0 + t, 1e-3 + t, 1e-6 + t, 1e-9 + t, 1e-12 + t]))
g''(0.0)                      #~ 2*((1e-6*1e-9*1e-12) + 1e-3*1e-9*1e-12 + 1e-3*1e-6*1e-12 + 1e-3*1e-6*1e-9 + 1e-9*1e-12 + 1e-6*1e-12 + 1e-6*1e-9 + 1e-3*1e-12 + 1e-3*1e-9 + 1e-3*1e-6) tol 1e-12

# complex, in a map, and with ten rows
w(t) = real(det([1 + 1im, 1, 1, 1; 1, 1, 1, 1; 1, 1, 1, 1; 1, 1, 1, 1] + t*diag([0im, 1, 1, 1im])))
w'''(0.0)                     #~ -6
map(d'', [0.0, 1.0])          #~ [26, 56]
map(o'', [0.0, 1.0])          #~ [0, 360] tol 1e-12
map(o''', [0.0, 0.0])         #~ [60, 60]
grad(x -> sum(map(t -> o'''(t), x)))([0.0, 0.0])    #~ [600, 600]
I10(t) = det(ones(10, 10) + t*diag(1 + 0.1*iota(10)))
# t^9 (sum of products of nine) + ...: the ninth coefficient
taylor(I10, 0.0, 9)[9]        #~ sum(prod(1 + 0.1*iota(10)) / (1 + 0.1*iota(10))) tol 1e-10
