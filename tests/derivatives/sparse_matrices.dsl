# Sparse matrices: construction, operators, linear systems, derivatives of
# these. Oracle: the dense matrices.
A = sparse([0, 2, 1, 0, 2, 2], [0, 0, 1, 2, 2, 2], [1.0, 2, 3, 4, 2, 3], 3, 3)
D = dense(A)
D                                                                        #> [[1, 0, 4], [0, 3, 0], [2, 0, 5]]
kind(A)                                                                  #> sparse
shape(A)                                                                 #> (3, 3)
A.values                                                                 #> [1, 2, 3, 4, 5]
A.column_start                                                           #> [0, 2, 3, 5]
A.row_start                                                              #> [0, 2, 3, 5]
x = [1.0, 2, 3]
M = [1.0, 2; 3, 4; 5, 6]
A @ x                                                                    #> [13, 6, 17]
x @ A                                                                    #> [7, 6, 19]
A' @ x                                                                   #> [7, 6, 19]
same(A @ M, D @ M)                                                       #> true
same(M' @ A, M' @ D)                                                     #> true
dense(-A + 2A' - A / 2 + A * 0.5)                                        #> [[1, 0, 0], [0, 3, 0], [6, 0, 5]]
dense(A'')                                                               #> [[1, 0, 4], [0, 3, 0], [2, 0, 5]]
dense(sparse([0], [1], [2im], 1, 2)')                                    #> [[0 + 0im], [0 - 2im]]
dense(sparse(i64(zeros(0)), i64(zeros(0)), zeros(0), 2, 3))              #> [[0, 0, 0], [0, 0, 0]]
wide = sparse([1, 0, 1], [4, 0, 2], [1.0, 2, 3], 2, 5)
wide @ iota(5)                                                           #> [0, 10]
shape(wide')                                                             #> (5, 2)
f(S, v) = (S @ v) · v
f(A, x)                                                                  #> 76.0

# Linear systems, and their first and second derivatives with respect to the
# right-hand side and the elements.
linsolve(A, x)                                                           #~ linsolve(D, x)
solve(A, x)                                                              #~ linsolve(D, x)
linsolve(A, M)                                                           #~ linsolve(D, M)
linsolve(A', x)                                                          #~ linsolve(D', x)
g(v) = sum(linsolve((...A, values = v), x)^2)
h(v) = { B = zeros(3, 3); B[A.rows, A.columns] = v; sum(linsolve(B, x)^2) }
grad(g)(A.values)                                                        #~ grad(h)(A.values)
hessian(g)(A.values)                                                     #~ hessian(h)(A.values)
jacobian(b -> linsolve(A, b))(x)                                         #~ inv(D)
grad(b -> sum(linsolve(A', b)^3))(x)                                     #~ grad(b -> sum(linsolve(D', b)^3))(x)
grad(b -> sum(linsolve(A, b)^2))(M)                                      #~ grad(b -> sum(linsolve(D, b)^2))(M)
map(b -> linsolve(A, b), M')                                             #~ transpose(linsolve(D, M))
grad(S -> sum((S @ x)^2))(A).values                                      #> [26, 34, 24, 78, 102]
jvp(x -> A @ x, x, x)[1]                                                 #> [13, 6, 17]
same(grad(x -> sum((A @ x)^2))(x), 2 * D' @ (D @ x))                     #> true

# A step of Newton's method with a sparse Jacobian.
F(u) = [u[i]^3 + 3u[i] - u[(i+1) % 50] - u[(i-1) % 50] - sin(i) for i in 0..50]
u = zeros(50)
for k in 0..8 { u = u - linsolve(jacobian(F; sparse = true)(u), F(u)) }
max(abs(F(u))) < 1e-13                                                   #> true
