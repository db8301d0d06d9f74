# Factorisations and solves of small matrices, which are registers in machine code: permuted, singular, NaN.
solve(A, b) = linsolve(A, b)
solve([[2.0, 1, 3], [4, 5, 1], [-7, 2, 2]], [1.0, 2, 3])                #~ [-0.2, 0.5, 0.3]
solve([[0.0, 1], [1, 0]], [3.0, 4])                                      #> [4, 3]
solve([[0.0, 0, 2], [4, 0, 0], [0, 8, 0]], [2.0, 4, 8])                  #> [1, 1, 1]
solve([[1e-30, 1], [1, 1]], [1.0, 2])                                    #~ [1, 1]
solve([[1e-300, 0], [0, 1e300]], [1.0, 1])                               #~ [1e300, 1e-300] tol 1e-12
solve([[4.0]], [2.0])                                                    #> [0.5]
solve([[nan, 1], [1, 1]], [1.0, 1])                                      #~ [nan, nan]
solve(f32([[2, 1], [1, 3]]), f32([1, 2]))                                #~ [0.2, 0.6] tol 1e-6
try { solve([[1.0, 2], [2, 4]], [1.0, 2]) } catch e { e }                #> the matrix is singular (pivot 1 of 2)
try { solve([[0.0, 0], [0, 1]], [1.0, 2]) } catch e { e }                #> the matrix is singular (pivot 0 of 2)
both(A) = lu(A)
both([[1.0, 2, 3], [4, 5, 6], [7, 8, 10]])[2]                            #> [2, 0, 1]
both([[3.0, 1], [-3, 2]])[2]                                             #> [0, 1]
chol(A) = cholesky(A)
chol([[4.0, 2], [2, 5]])                                                 #> [[2, 0], [1, 2]]
try { chol([[4.0, 4], [4, 4]]) } catch e { e }                           #> the matrix is not positive definite (pivot 1 of 2)
try { chol([[nan, 4], [4, 4]]) } catch e { e }                           #> the matrix is not positive definite (pivot 0 of 2)
T = [[2.0, 9, 9], [1, 4, 9], [3, 5, 8]]
trisolve(T, T @ [1.0, 2, 3] - [[0.0, 9, 9], [0, 0, 9], [0, 0, 0]] @ [1.0, 2, 3])                         #~ [1, 2, 3]
up(T, b) = trisolve(T, b; lower = false, adjoint = true)
up(T, [2.0, 17, 51])                                                     #~ [1, 2, 3]
down(T, b) = trisolve(T, b; adjoint = true, unit = true)
down(T, [12.0, 17, 3])                                                   #~ [1, 2, 3]
g(A, b) = sum(solve(A, b)^2)
grad(A -> g(A, [1.0, 2]))([[2.0, 1], [1, 3]])                            #~ [[0, 0], [-0.08, -0.24]]
det2(A) = (u -> u[0, 0] * u[1, 1])(lu(A)[1])
det2([[2.0, 1], [1, 3]])                                                 #~ 5
# six rows: more than fit into registers as scalars
P = [[0.0, 0, 2, 0, 0, 0], [0, 0, 0, 2, 0, 0], [0, 0, 0, 0, 2, 0], [0, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 0], [0, 2, 0, 0, 0, 0]]
solve(P, [1.0, 2, 3, 4, 5, 6])                                           #> [2.5, 3, 0.5, 1, 1.5, 2]

# data of the program around a function is a constant of it: rows of a constant
Data = map(i -> [1.0, 2; 2, 5.0 + i], iota(1000))
sides = map(i -> [1.0, i], iota(1000))
sum(map(a -> sum(solve(a, [1.0, 2])), Data))                           #~ 1000.0
with_data(w) = sum(map(a -> sum(solve(a, w)), Data))
with_data([1.0, 2])                                                    #~ 1000.0
grad(with_data)([1.0, 2])                                              #~ map(e -> sum(map(a -> sum(solve(a, e)), Data)), eye(2))
both(w) = map((a, b) -> { x = solve(a, b) + w
  for k in 0..3 { x = x - solve(a, a @ x - b) }
  x }, Data, sides)
sum(abs(map((a, b) -> a @ b, Data, both([0.1, 0.2])) - sides)) < 1e-9  #> true
last(w) = { A = Data[..20 by 1]
  map((a, s) -> det(a) * s * w, Data, sides[.., 1])[999] }
last(2.0)                                                              #~ 2.0 * 999 * 1000
