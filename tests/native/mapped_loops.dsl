# map over loops, branches and small solves. Oracle: one call after the other.
N = 37
xs = linspace(0.1, 3, N);
alone(f, xs) = { r = zeros(len(xs)); for i in 0..len(xs) { r[i] = f(xs[i]) }; r }
alike(f, xs) = max(abs(map(f, xs) - alone(f, xs)))

# Loops of fixed trip count that carry a scalar, a vector, or two values.
logistic(x) = { y = x / 4; for k in 0..50 { y = 3.7 * y * (1 - y) }; y }
alike(logistic, xs)                                                      #~ 0 tol 1e-9
rk4(x) = {
  u = [x, 0.0]
  g(u) = [u[1], (1 - u[0]^2) * u[1] - u[0]]
  h = 0.05
  for k in 0..40 {
    k1 = g(u)
    k2 = g(u + h / 2 * k1)
    k3 = g(u + h / 2 * k2)
    k4 = g(u + h * k3)
    u += h / 6 * (k1 + 2k2 + 2k3 + k4)
  }
  u[0] + 10u[1]
}
alike(rk4, xs)                                                           #~ 0 tol 1e-12
pair(x) = { a = 0.0; b = 1.0; for k in 0..20 { (a, b) = (b, a * x / 3 + b / 2) }; a - b }
alike(pair, xs)                                                          #~ 0 tol 1e-14
count(x) = { n = 0; for k in 0..10 { if sin(k * x) > 0.3 { n += k } }; f64(n) }
alike(count, xs)                                                         #~ 0
whole(n) = { a = 0; b = 1; for k in 0..n { (a, b) = (b, a + b) }; a }
map(whole, [3, 10, 0, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])      #> [2, 55, 0, 6765, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987]
half(x) = { y = f32(x); for k in 0..9 { y = (y + f32(2) / y) / f32(2) }; y }
dtype(map(half, xs))                                                     #> f32
max(abs(map(half, xs) - sqrt(f32(2))))                                   #~ 0 tol 1e-6
matrices(x) = { A = [[1.0, x], [0, 1]]; P = A; for k in 0..3 { P = P @ A / 2 }; sum(P) }
alike(matrices, xs)                                                      #~ 0 tol 1e-13

# while: each row stops at its own iteration, or does not start.
heron(x) = { y = x; while abs(y^2 - x) > 1e-12 * x { y = (y + x / y) / 2 }; y }
alike(heron, xs)                                                         #~ 0 tol 1e-15
max(abs(map(heron, xs) - sqrt(xs)))                                      #~ 0 tol 1e-12
turns(x) = { n = 0; y = x; while y > 1 { y /= 1.5; n += 1 }; 10.0n + y }
alike(turns, 40xs)                                                       #~ 0 tol 1e-13
alike(turns, xs / 4)                                                     #~ 0
collatz(n) = { k = 0; while n != 1 { n = if n % 2 == 0 { n // 2 } else { 3n + 1 }; k += 1 }; k }
map(collatz, 1..50)                                                      #> [0, 1, 7, 2, 5, 8, 16, 3, 19, 6, 14, 9, 9, 17, 17, 4, 12, 20, 20, 7, 7, 15, 15, 10, 23, 10, 111, 18, 18, 18, 106, 5, 26, 13, 13, 21, 21, 21, 34, 8, 109, 8, 29, 16, 16, 16, 104, 11, 24]
# A finished row must not run further iterations: they would fail.
table = [3, 1, 4, 1, 5]
steps(x) = { i = 0; while i < 5 and table[i] < 3x { i += 1 }; f64(i) }
alike(steps, xs)                                                         #~ 0
nested(x) = { s = 0.0; while s < x { t = 0.0; while t < s + 0.3 { t += 0.11 }; s += t }; s }
alike(nested, xs)                                                        #~ 0 tol 1e-14
upto(x) = { s = 0.0; for k in 0..i64(4x) { s += x / (k + 1) }; s }
alike(upto, xs)                                                          #~ 0 tol 1e-14

# Branches: the branch not taken would fail, or give a NaN to a derivative.
safe(x) = if x > 1 { sqrt(x - 1) } else { 2x }
alike(safe, xs)                                                          #~ 0
max(abs(map(safe', xs) - alone(safe', xs)))                              #~ 0 tol 1e-14
three(x) = if x < 1 { x } else { if x < 2 { x^2 } else { log(x) } }
alike(three, xs)                                                         #~ 0 tol 1e-15
pick(x) = { i = i64(2x); if i < 5 { f64(table[i]) } else { -x } }
alike(pick, xs)                                                          #~ 0

# Small solves.
solved(x) = sum(linsolve([[x, 1, 0], [2, x, 1], [0, 3, x - 1]], [1.0, x, 2]))
alike(solved, xs)                                                        #~ 0 tol 1e-12
lower(x) = sum(cholesky([[2 + x, x, 1], [x, 3 + x, 0.5], [1, 0.5, 2]]))
alike(lower, xs)                                                         #~ 0 tol 1e-13
three_of(x) = {
  v = [x, 1 + x, 2.0];
  for k in 0..6 {
    J = jacobian(v -> [v[0]^2 + v[1] - x, v[1]^2 - v[2], v[2] * v[0] - 1])(v);
    v -= linsolve(J, [v[0]^2 + v[1] - x, v[1]^2 - v[2], v[2] * v[0] - 1])
  };
  sum(v)
}
alike(three_of, 1 + xs)                                                  #~ 0 tol 1e-9
fails(x) = linsolve([[x, 1], [x^2, x]], [1.0, 2])[0]
try { map(fails, linspace(0, 36, 37)) } catch e { e }                    #> matrix 0: the matrix is singular (pivot 0 of 2)
at(x) = linsolve([[x, 1], [1, 1.0]], [1.0, 2])[0]
try { map(at, linspace(-3, 33, 37)) } catch e { e }                      #> matrix 4: the matrix is singular (pivot 1 of 2)
eights(x) = { A = eye(8) * (1 + x); for k in 0..7 { A[k, k + 1] = x }; sum(linsolve(A, ones(8))) }
alike(eights, xs)                                                        #~ 0 tol 1e-12

# Derivatives of the mapped functions and of the map.
root(x) = { y = x; for k in 0..8 { y = (y + x / y) / 2 }; y }
max(abs(map(root', xs) - 0.5 / sqrt(xs)))                                #~ 0 tol 1e-9
total(xs) = sum(map(root, xs))
max(abs(grad(total)(xs) - 0.5 / sqrt(xs)))                               #~ 0 tol 1e-9
total2(xs) = sum(map(heron, xs))
max(abs(grad(total2)(xs) - 0.5 / sqrt(xs)))                              #~ 0 tol 1e-9
total3(xs) = sum(map(solved, xs))
max(abs(grad(total3)(xs) - alone(solved', xs)))                          #~ 0 tol 1e-10
total4(xs) = sum(map(turns, 40xs))
max(abs(grad(total4)(xs) - 40alone(turns', 40xs)))                       #~ 0 tol 1e-12
max(abs(jvp(total2, xs, ones(N))[1] - sum(0.5 / sqrt(xs))))                 #~ 0 tol 1e-9

# A tape of known extent, indexed by the iteration: the same for one row and for
# many.
wave(x) = { for i in 0..20 { x = x + 0.1 * sin(x) * i }; x^2 }
total5(xs) = sum(map(wave, xs))
max(abs(grad(total5)(xs / 10) - alone(wave', xs / 10)))                  #~ 0 tol 1e-9
own(x) = { t = zeros(12); for k in 0..12 { t[i64(x + k * 2.7) % 12] += x }; t[3] + 10t[i64(3.9x)] + max(t) }
alike(own, xs)                                                           #~ 0 tol 1e-13

# Operations across rows are not vectorised over rows.
mixed(xs) = { for k in 0..4 { xs = xs / sum(xs) + 0.01 }; xs }
sum(mixed(xs))                                                           #~ 1.37 tol 1e-12
together(xs) = { while max(xs) > 1 { xs = xs / 2 }; xs }
max(abs(together(xs) - xs / 4))                                          #~ 0
shifted(xs) = { for k in 0..3 { xs = concat(xs[1..], xs[..1]) }; xs }
shifted(xs)[0] == xs[3]                                                  #> true

# A table shared by all rows, too large for registers.
big = linspace(0, 1, 500)
grid = reshape(linspace(0, 1, 600), 300, 2)
look(x) = { s = 0.0; for k in 0..40 { s = 0.5s + big[k * 12] * x + big[i64(100x) + k] + sum(grid[k + i64(x)]) }; s }
alike(look, xs)                                                          #~ 0 tol 1e-12
until(x) = { k = 0; while big[k] < x / 4 { k += 3 }; k + 0.0 }
alike(until, xs)                                                         #~ 0
try { map(x -> { s = 0.0; for k in 0..3 { s += big[i64(170x) + k] }; s }, xs) } catch e { e }      #> index 510 is out of range for an axis of length 500

# A tape of many iterations stays in memory. Each row writes and reads its own
# part.
steady(x) = { y = x; for k in 0..100 { y = (y + x / y) / 2 }; y }
total6(xs) = sum(map(steady, xs))
max(abs(grad(total6)(xs) - 0.5 / sqrt(xs)))                              #~ 0 tol 1e-12
total7(xs, n) = sum(map(x -> { u = [x, 0.0]; for k in 0..n { u = [u[0] + 0.01u[1], u[1] - 0.01sin(u[0])] }; u[0] * u[1] }, xs))
single(x, n) = { u = [x, 0.0]; for k in 0..n { u = [u[0] + 0.01u[1], u[1] - 0.01sin(u[0])] }; u[0] * u[1] }
max(abs(grad(xs -> total7(xs, 70))(xs) - alone(x -> (y -> single(y, 70))'(x), xs)))       #~ 0 tol 1e-11
max(abs(grad(xs -> total7(xs, 0))(xs)))                                  #~ 0
hvp_at(xs) = hvp(xs -> total7(xs, 40), xs, ones(N))
max(abs(hvp_at(xs) - alone(x -> (y -> single(y, 40))''(x), xs)))         #~ 0 tol 1e-9
tape(xs) = { t = zeros(50, N); for k in 0..50 { xs = cos(xs); t[k] = xs }; t }
sum(tape(xs)[49]) == sum(tape(xs)[49, ...])                              #> true
max(abs(tape(xs)[2] - cos(cos(cos(xs)))))                                #~ 0 tol 1e-15

# Row-local loops inside other loops, and with extents known only at run time.
epochs(xs) = { for e in 0..4 { xs = map(heron, xs); xs = xs / sum(xs) * len(xs) }; xs }
max(abs(epochs(xs) - xs^(1/16) / mean(xs^(1/16))))                       #~ 0 tol 1e-11
kept(xs) = map(heron, xs[xs > 1])
max(abs(kept(xs) - sqrt(xs[xs > 1])))                                    #~ 0 tol 1e-12
size(map(heron, xs[xs > 5]))                                             #> 0
grid2 = map(a -> map(b -> { s = 0.0; for k in 0..5 { s = s / 2 + a * b }; s }, xs), xs)
shape(grid2)                                                             #> (37, 37)
max(abs(grid2 - expand(xs, 1) * xs * 1.9375))                            #~ 0 tol 1e-12

# One element for all rows, given as an array of extent 1.
stretched(x, c) = map((a, k) -> { s = a; for i in 0..k { s = s + c[0]*sin(s) }; s }, x, [3, 1, 4, 1, 5])
stretched([0.1, 0.2, 0.3, 0.4, 0.5], [0.7]) #~ map(a -> a, [stretched([0.1, 0.2, 0.3, 0.4, 0.5], [0.7])[k] for k in 0..5])
widen(x, c) = { s = x; for i in 0..4 { s = s + c*sin(s) }; s }
widen(linspace(0, 1, 30), [0.7])     #~ [widen([t], [0.7])[0] for t in linspace(0, 1, 30)]
