# Singular, rank-deficient and far from normal matrices: factors, least squares,
# roots, logarithms, exponentials. Right, or refused.

# every matrix has P A = L U
factored(A) = { (L, U, p) = lu(A); max(abs(L @ U - A[p])) }
factored([1.0, 3; 3, 9])                      #> 0.0
factored([0.0, 0, 1; 0, 0, 2; 0, 3, 4])       #> 0.0
factored(zeros(3, 3))                         #> 0.0
factored([1.0, 2, 3; 4, 5, 6; 7, 8, 9])       #~ 0 tol 1e-15
factored([1 + 1im, 2im; 2 + 2im, 4im])        #~ 0 tol 1e-15
(L, U, p) = lu([1.0, 3; 3, 9])
L @ U                                         #~ [3, 9; 1, 3]
abs(U[1, 1])                                  #~ 0
isnan((t -> lu([1.0, 3; 3, t])[1][0, 1])'(9.0))        #> true
try { inv([1.0, 3; 3, 9]) } catch m { [0.0] } #> [0]

# The minimum-norm solution: columns a, 3a give c [1, 3] / 10 with c = a.b /
# a.a.
lstsq([1.0, 3; 2, 6; 3, 9], [1.0, 2, 4])      #~ 17/140 * [1, 3] tol 1e-13
lstsq([1.0, 3; 2, 6; 3, 9], [1.0, 1; 2, 1; 4, 1])      #~ [17/140, 6/140; 51/140, 18/140] tol 1e-13
lstsq([1, 1; 1, 1], [1, 3])                   #~ [1, 1]
lstsq(zeros(3, 2), [1.0, 2, 3])               #> [0, 0]
lstsq([0.0, 1; 0, 2], [1.0, 2])               #~ [0, 1]
lstsq([1im, 2im; 1, 2], [5im, 5])             #~ [1, 2] tol 1e-13
# a sum of columns among them: as with the pseudo-inverse
B = [2.0, 1, 3; 1, 5, 6; 0, 2, 2; 7, 1, 8; 3, 3, 6]
b = [1.0, 0, 2, -1, 4]
lstsq(B, b)                                   #~ pinv(B) @ b tol 1e-12
# Scaling of columns does not matter: here the first two are independent.
lstsq([1e-20, 1; 0, 2; 0, 3], [1.0, 2, 4])    #~ [-2.3076923076923076e19, 16/13] tol 1e-12
lstsq([1e-20, 1, 3; 0, 2, 6; 0, 3, 9], [1.0, 2, 4])[1..]       #~ 16/130 * [1, 3] tol 1e-12
# badly conditioned is not singular: x = [1, 1] is the solution
lstsq([1.0, 1; 1, 1 + 1e-12; 1, 1 - 1e-12], [2.0, 2 + 1e-12, 2 - 1e-12])     #~ [1, 1] tol 1e-3
dtype(lstsq(f32([1, 3; 2, 6; 3, 9]), f32([1, 2, 4])))          #> f32
lstsq(f32([1, 3; 2, 6; 3, 9]), f32([1, 2, 4]))                 #~ 17/140 * [1, 3] tol 1e-5
matrix_rank(f32([1, 3; 2, 6; 3, 9] / 7))      #> 1
pinv(f32([1, 3; 2, 6; 3, 9] / 7))             #~ 7 * [1, 2, 3; 3, 6, 9] / 140 tol 1e-4
# Derivatives at constant rank: with respect to b; along t A the solution is x /
# t.
x = lstsq([1.0, 3; 2, 6; 3, 9], [1.0, 2, 4])
jacobian(b -> lstsq([1.0, 3; 2, 6; 3, 9], b))([1.0, 2, 4])     #~ [1; 3] @ [1, 2, 3; 0, 0, 0][..1] / 140 tol 1e-13
shortest(t) = lstsq(t * [1.0, 3; 2, 6; 3, 9], [1.0, 2, 4])
shortest'(2.0)                                #~ -x / 4 tol 1e-12
shortest''(2.0)                               #~ x / 4 tol 1e-12

# Powers of the matrix may be small though its norm is large: exp([0, a; 0, -s])
# has a (1 - exp(-s)) / s above the diagonal.
above(a, s) = expm([0, a; 0, -s])[0, 1] / (a * (1 - exp(-s)) / s)
above(1e10, 1.0)                              #~ 1 tol 1e-14
above(3e8, 2.0)                               #~ 1 tol 1e-14
above(1e14, 3.0)                              #~ 1 tol 1e-14
above(1e30, 1.0)                              #~ 1 tol 1e-13
expm([0, 1e60; 0, 0]) / [1, 1e60; 1, 1]       #> [[1, 1], [0, 1]]
expm([0.0, 1e6, 0; 0, 0, 1e6; 0, 0, 0])       #~ [1, 1e6, 5e11; 0, 1, 1e6; 0, 0, 1] tol 1e-15
# here they are not, and each of 12 squarings doubles the rounding error
expm([-1e4, 0; 0, 1])                         #~ [0, 0; 0, e] tol 1e-12
(t -> expm(t * [0, 1e10; 0, -1])[0, 1] / 1e10)'(1.0)     #~ exp(-1) tol 1e-13
(t -> expm(t * [0, 1e10; 0, -1])[0, 1] / 1e10)''(1.0)    #~ -exp(-1) tol 1e-13

# Roots and logarithms by eigenvalues: on the negative real axis, those with a
# positive imaginary part.
squared(A) = { X = sqrtm(A); X @ X }
sqrtm([-4.0, 0; 0, 9])                        #~ [2im, 0; 0, 3]
sqrtm(-eye(3))                                #~ 1im * eye(3)
squared([-1.0, 1; 0, -1])                     #~ [-1, 1; 0, -1] tol 1e-13
squared([-1.0, 2, 3; 0, 5, 6; 1, 1, -7])      #~ [-1, 2, 3; 0, 5, 6; 1, 1, -7] tol 1e-12
logm([-1.0, 0; 0, 1])                         #~ [1im * π, 0; 0, 0]
logm([-1.0, 1; 0, -1])                        #~ [1im * π, -1; 0, 1im * π] tol 1e-13
expm(logm([-1.0, 2, 3; 0, 5, 6; 1, 1, -7]))   #~ [-1, 2, 3; 0, 5, 6; 1, 1, -7] tol 1e-11
all_of(f, t) = [f(t), f'(t), f''(t)]
all_of(t -> imag(sqrtm(t * [-4.0, 0; 0, 9])[0, 0]), 1.0)       #~ [2, 1, -0.5] tol 1e-12
all_of(t -> real(logm(t * [-4.0, 0; 0, 9])[0, 0]), 1.0)        #~ [log(4), 1, -1] tol 1e-12
# Singular: a root exists if 0 is no defective eigenvalue; there is no
# derivative.
sqrtm([4.0, 0; 0, 0])                         #~ [2, 0; 0, 0]
sqrtm([-4.0, 0; 0, 0])                        #~ [2im, 0; 0, 0]
sqrtm(zeros(2, 2))                            #~ [0, 0; 0, 0]
C = [1.0, 2; 3, 4; 5, 6] @ [1.0, 0, 1; 0, 1, 1]
squared(C)                                    #~ C tol 1e-12
isnan((t -> real(sqrtm([4.0, 0; 0, t])[1, 1]))'(0.0))          #> true
contains(try { str(sqrtm([0.0, 1; 0, 0])) } catch m { m }, "no square root")          #> true
contains(try { str(logm([1.0, 1; 1, 1] * 0)) } catch m { m }, "no logarithm") #> true
# matrices that are not finite have no rank, root or logarithm
said(f) = try { str(f()) } catch m { m }
N = [nan, 1; 1, 1]
map(f -> contains(said(() -> f(N)), "not finite"), list(A -> matrix_rank(A), null_space, orth, sqrtm, logm, expm))   #> list(true, true, true, true, true, true)
all(isnan(ravel(pinv(N))))                    #> true
all(isnan(lstsq(N, [1.0, 2])))                #> true

# A small singular value of a matrix far from normal is no eigenvalue close to
# 0.
sqrtm([1.0, 1e8; 0, 1])                       #~ [1, 5e7; 0, 1] tol 1e-12
sqrtm(f32([1, 3000; 0, 1]))                   #~ [1, 1500; 0, 1] tol 1e-5
sqrtm([1, 1e6, 0; 0, 2, 1e6; 0, 0, 3])[0]     #~ [1, 1e6 / (1 + sqrt(2)), -48188158588.6564] tol 1e-10
sqrtm([1e-20, 1; 0, 1e-20])                   #~ [1e-10, 5e9; 0, 1e-10] tol 1e-12
(t -> real(sqrtm(t * [1.0, 1e8; 0, 1])[0, 1]))'(1.0)          #~ 2.5e7 tol 1e-9
