# Factorisations and solves of small matrices, which machine code holds in
# registers: permuted, singular, NaN. Oracle: expected values.
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
# Six rows: more than fit into registers as scalars.
P = [[0.0, 0, 2, 0, 0, 0], [0, 0, 0, 2, 0, 0], [0, 0, 0, 0, 2, 0], [0, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 0], [0, 2, 0, 0, 0, 0]]
solve(P, [1.0, 2, 3, 4, 5, 6])                                           #> [2.5, 3, 0.5, 1, 1.5, 2]

# Data of the surrounding program is a constant of a function: rows of a
# constant.
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

# Rows in vectors of four registers, the remainder in two. Long blocks are split
# into single registers. Oracle: each row by itself.
equations(v) = [v[0]^2 + v[1]^2 + v[2]^2 - 14, v[0]*v[1]*v[2] - 6, v[0] - v[1]^2 + v[2]]
newton(v) = {
  for k in 0..8 { v -= linsolve(jacobian(equations)(v), equations(v)) }
  v
}
newtons(vs) = map(newton, vs)
starts(n) = [[1, 2, 3][j] + 0.1*sin(7i + 3j) for i in 0..n, j in 0..3]
alone(vs) = [newton(vs[i])[j] for i in 0..len(vs), j in 0..3]
apart(n) = max(abs(newtons(starts(n)) - alone(starts(n))))
max([apart(1), apart(3), apart(7), apart(8), apart(9), apart(15), apart(16), apart(17), apart(23), apart(33), apart(300)]) < 1e-12    #> true
max(abs(newtons(starts(300)) - expand([1.0, 2, 3], 0))) < 1e-9           #> true
max(abs(newtons(starts(40))[..11] - newtons(starts(11))))                #> 0.0
singles(vs) = map(v -> f32(0.5)*v + linsolve([[2 + v[0], v[1], 0], [v[1], f32(3), v[0]], [0, v[0], f32(4)]], v), vs)
last(n) = max(abs(singles(f32(starts(n)))[-1] - singles(f32(starts(n)[-1..]))[0]))
[last(1), last(15), last(16), last(17), last(31), last(32), last(33), last(49), last(70)]    #~ zeros(9) tol 1e-6
# A failure in such a block is reported with its row, whichever lane it is in.
corners(vs) = map(v -> linsolve([[v[0], 1, 0], [1, v[1], 1], [0, 1, v[2]]] @ [[v[0], 0, 0], [0, 1, 0], [0, 0, 1]], v), vs)
spoilt(n, k) = [if i == k { [0.0, 2, 3][j] } else { starts(n)[i, j] } for i in 0..n, j in 0..3]
try { corners(spoilt(40, 3)) } catch e { e }                            #> matrix 3: the matrix is singular (pivot 0 of 3)
try { corners(spoilt(40, 21)) } catch e { e }                            #> matrix 21: the matrix is singular (pivot 0 of 3)
try { corners(spoilt(40, 39)) } catch e { e }                            #> matrix 39: the matrix is singular (pivot 0 of 3)

# A mixture of Gaussians: a map over its components. Oracle: a loop over them.
means = map(k -> [sin(1.0k), cos(2.0k), 0.1k, -0.2k, 1, sin(3.0k), 0.3, 0.5, -0.5, cos(1.0k)], iota(5))
factors = map(k -> eye(10)*(1 + 0.1k) + 0.02*reshape(sin(1.0*iota(100) + k), 10, 10), iota(5))
points = reshape(sin(0.7*iota(1500)), 150, 10)
density(L, m, x) = -0.5*sum(((x - m) @ L')^2 + (x - m)^2; axis = 1)
mapped(L, m, x) = sum(log(sum(map((L, m) -> exp(density(L, m, x)), L, m); axis = 0)))
single(L, m, x) = { s = zeros(len(x)); for k in 0..len(m) { s += exp(density(L[k], m[k], x)) }; sum(log(s)) }
mapped(factors, means, points)                                         #~ single(factors, means, points) tol 1e-11
grad(mapped)(factors, means, points)                                   #~ grad(single)(factors, means, points) tol 1e-11
grad(m -> mapped(factors, m, points))(means)                           #~ grad(m -> single(factors, m, points))(means) tol 1e-11
grad(x -> mapped(factors, means, x))(points)                           #~ grad(x -> single(factors, means, x))(points) tol 1e-11
hvp(m -> mapped(factors, m, points), means, means)                     #~ hvp(m -> single(factors, m, points), means, means) tol 1e-10
# A NaN in the factor of one component affects only that component's share and
# the sums.
spoilt = factors[..]; spoilt[2, 3, 4] = nan
isnan(mapped(spoilt, means, points))                                   #> true

# No components: a sum over an axis of extent 0, for each remaining element.
empty_sum(x) = sum(exp(x); axis = 0)
(sum(abs(empty_sum(zeros(0, 40)))), len(empty_sum(zeros(0, 40))))      #> (0.0, 40)
max(abs(empty_sum(zeros(0, 3, 40)) - zeros(3, 40)))                    #~ 0
empty_product(x) = prod(exp(x); axis = 0)
sum(empty_product(zeros(0, 3, 40)))                                    #~ 120
grad(mapped)(factors[..0], means[..0], points)                         #~ zeros(0, 10, 10)
mapped(factors[..0], means[..0], points)                               #> -inf
