# prelude.dsl - what is always there: constants, everyday array functions, and derivatives in terms of the builtin transforms.

pi = 3.141592653589793
π = 3.141592653589793
e = 2.718281828459045
inf = 1 / 0.0
nan = 0.0 / 0.0
im = 1im

# ---- numbers

# ceil(x): smallest whole number not below x
ceil(x) = -floor(-x)
# trunc(x): the whole part, towards 0
trunc(x) = where(x < 0, -floor(-x), floor(x))
# isnan(x): whether each element is NaN
isnan(x) = not (x == x)
# isfinite(x): whether each element is neither infinite nor NaN
isfinite(x) = abs(x) < inf
# asinh(x), acosh(x), atanh(x): inverse hyperbolic functions
asinh(x) = sign(x) * log1p(abs(x) + x^2 / (1 + sqrt(1 + x^2)))
acosh(x) = log(x + sqrt(x^2 - 1))
atanh(x) = 0.5 * log1p(2 * x / (1 - x))
# sech(x): 1/cosh(x)
sech(x) = 1 / cosh(x)
# log2(x), log10(x): logarithms to base 2 and 10
log2(x) = log(x) / 0.6931471805599453
log10(x) = log(x) / 2.302585092994046
# relu(x): max(x, 0), with derivative 0 at 0
relu(x) = where(x > 0, x, 0 * x)
# sigmoid(x): 1/(1 + exp(-x)), without overflow
sigmoid(x) = 0.5 * (1 + tanh(0.5 * x))
# softplus(x): log(1 + exp(x)), without overflow
softplus(x) = max(x, 0) + log1p(exp(-abs(x)))
# angle(z): argument of a complex number, radians
angle(z) = atan2(imag(z), real(z))
# clamp(x, lo, hi): x, moved into [lo, hi]
clamp(x, lo, hi) = min(max(x, lo), hi)

# ---- making arrays

# linspace(a, b, n): f64[n], evenly spaced from a to b, both included; n >= 2
linspace(a, b, n) = a + (b - a) * (iota(n) / f64(n - 1))
# logspace(a, b, n): f64[n], 10^a .. 10^b, evenly spaced in the exponent
logspace(a, b, n) = 10.0^linspace(a, b, n)
# arange(a, b, step): a, a + step, ... below b
arange(a, b, step = 1.0) = a + step * iota(max(0, i64(ceil((b - a) / step))))
# eye(n): f64[n, n], the identity matrix
eye(n) = f64(expand(iota(n), 1) == expand(iota(n), 0))
# diag(v): the square matrix with v on its diagonal; of a matrix, its diagonal
diag(v) = if rank(v) == 1 { expand(v, 1) * eye(len(v)) } else { sum(v * eye(len(v)); axis = 1) }
# zeros_like(x), ones_like(x): arrays of x's shape
zeros_like(x) = 0 * stop_gradient(x)
ones_like(x) = 0 * stop_gradient(x) + 1

# ---- everyday reductions

# mean(x; axis): arithmetic mean
mean(x; axis = none) = if kind(axis) == "none" { sum(x) / size(x) } else { sum(x; axis = axis) / (size(x) / size(sum(x; axis = axis))) }
# var(x; axis): mean squared distance from the mean
var(x; axis = none) = if kind(axis) == "none" { mean((x - mean(x))^2) } else { mean((x - sum(x; axis = axis, keepdims = true) / (size(x) / size(sum(x; axis = axis))))^2; axis = axis) }
# std(x; axis): square root of var
std(x; axis = none) = sqrt(var(x; axis = axis))
# norm(x): Euclidean norm of all elements
norm(x) = sqrt(sum(abs(x)^2))
# dot(x, y), x · y: sum of products
dot(x, y) = x @ y
# cross(a, b), a × b: vector product in three dimensions
cross(a, b) = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
# outer(x, y): matrix of products
outer(x, y) = expand(x, 1) * expand(y, 0)
# trace(A): sum of the diagonal
trace(A) = sum(A * eye(len(A)))
# diff(x): x[1..] - x[..-1]
diff(x) = x[1..] - x[..-1]
# trapz(y, x): integral of y over x by the trapezoidal rule
trapz(y, x) = 0.5 * sum((y[1..] + y[..-1]) * (x[1..] - x[..-1]))
# flip(x): rows in reverse order
flip(x) = x[.. by -1]
# ravel(x): all elements as a vector
ravel(x) = reshape(x, -1)

# ---- searching

# searchsorted(a, v): how many elements of the ascending vector a are <= v, for each v; O(len(a)) per element
searchsorted(a, v) = sum(a <= expand(v, rank(v)); axis = rank(v))

# ---- linear algebra

# linsolve(A, b): x with A x = b, by LU with partial pivoting; b a vector or a matrix; A a matrix, or a sparse one (by KLU, f64). A derivative, of any order, takes a
# solution with the same factors for each direction, a gradient one with the adjoint matrix
linsolve(A, b) = if kind(A) == "sparse" { _sparse_solve(A, b) } else {
  (F, p) = _lu(stop_gradient(A))
  _with_factors(A, F, p, _right_side(A, b))
}
_with_factors(A, F, p, b) = _solved(A, F, p, b, trisolve(F, trisolve(F, b[p]; lower = true, unit = true); lower = false))
# inv(A): inverse matrix; linsolve(A, b) is better than inv(A) @ b
inv(A) = linsolve(A, eye(len(A)))
# lu(A): (L, U, p) with A[p] = L U
lu(A) = {
  (F, p) = _lu(A)
  i = expand(iota(len(A)), 1)
  j = expand(iota(len(A)), 0)
  (where(i > j, F, 0.0) + eye(len(A)), where(i <= j, F, 0.0), p)
}
# det(A): determinant
det(A) = try { _det(A) } catch e { _det_of_singular(A) }
_det(A) = {
  (F, p) = _lu(stop_gradient(A))
  _det_by(A, F, p)
}
derivative _det_by(A, F, p), dA, dF, dp = y * sum(transpose(_with_factors(A, F, p, eye(len(A)))) * dA)
_det_by(A, F, p) = {
  n = len(A)
  i = expand(iota(n), 1)
  j = expand(iota(n), 0)
  swaps = sum((expand(p, 1) > expand(p, 0)) and (i < j))
  where(swaps % 2 == 0, 1.0, -1.0) * prod(diag(F))
}
# A pivot vanished: the value is 0 (or NaN), the slope the matrix of cofactors, which for A = U S V' is det(U) det(V) U adj(S) V'
_det_of_singular(A) = 0.0 * sum(A)
derivative _det_of_singular(A), dA = {
  (U, s, V) = svd(A)
  i = iota(len(s))
  others = map(k -> prod(where(i == k, 1.0, s)), i)
  _det(U) * conj(_det(V)) * sum((conj(U) * expand(others, 0)) @ transpose(V) * dA)
}
# lstsq(A, b): least-squares solution of A x = b by QR; A has at least as many rows as columns and full rank. Derivatives, of every order, solve
# A'A dx = A'(db - dA x) + dA'(b - A x) with the same R
lstsq(A, b) = {
  (Q, R) = qr(stop_gradient(A))
  _lstsq_by(A, _right_side(A, b), Q, R)
}
derivative _lstsq_by(A, b, Q, R), dA, db, dQ, dR = {
  # A'A = R'R, with a unit lower triangle as lu gives it
  d = diag(R)
  i = expand(iota(len(d)), 1)
  j = expand(iota(len(d)), 0)
  F = where(i > j, R' / expand(d, 0), expand(d, 1) * R)
  _with_factors(A' @ A, F, iota(len(d)), A' @ (db - dA @ y) + dA' @ (b - A @ y))
}
_lstsq_by(A, b, Q, R) = trisolve(R, Q' @ b; lower = false)
# pinv(A; rtol): pseudo-inverse by SVD; singular values up to rtol times the largest count as 0. Derivatives, of every order, where the rank does not
# change (Golub and Pereyra 1973)
pinv(A; rtol = 1e-13) = _pinv(A + 0.0, rtol)
derivative _pinv(A, rtol), dA, drtol = {
  D = dA'
  (y @ y') @ (D - (D @ A) @ y) + (D - y @ (A @ D)) @ (y' @ y) - y @ dA @ y
}
_pinv(A, rtol) = {
  (U, s, V) = svd(A)
  large = s > rtol * max(s)
  (V * expand(where(large, 1 / where(large, s, 1.0), 0.0), 0)) @ U'
}

# ---- derivatives

# jacobian(f): x -> matrix of partial derivatives, result axes first; x a vector (a scalar x gives f'): forwards, a
# column for each element of x, or backwards, a row for each element of f(x) where these are at most half as many. jacobian(f; sparse = true): a sparse
# matrix, size(f(x)) by size(x), x any real array or structure of them; its pattern is found for these lengths and captured values, once; sparse =
# sparsity(f, x): on this pattern
jacobian(f; sparse = false) = x -> if kind(sparse) == "array" { if sparse { _sparse_jacobian(f, x) } else { _jacobian(f, x) } } else { _jacobian_on(f, x, sparse) }
_jacobian(f, x) = {
  if kind(x) == "array" {
    if rank(x) == 0 { jvp(f, x, 1.0)[1] } else {
      (y, push) = linearize(f, x)
      if rank(y) == 0 { grad(f)(x) } else {
        few = _columns(push)
        if kind(few) != "none" { _by_columns(few, x, y) }
        else if 2size(y) <= size(x) and _is_real(x) and _is_real(y) { _by_rows(f, x) }
        else { _by_columns(map(dx -> push(reshape(dx, shape(x))), eye(size(x))), x, y) }
      }
    }
  } else {
    (v, back) = flatten(x)
    _jacobian(w -> f(back(w)), v)
  }
}
_is_real(x) = dtype(x) == "f64" or dtype(x) == "f32"
_by_columns(J, x, y) = reshape(transpose(reshape(J, size(x), size(y))), list(...shape(y), ...shape(x)))
# backwards, one cotangent for each element of the result
_by_rows(f, x) = {
  (y, back) = vjp(f, x)
  J = map(w -> back(reshape(w, shape(y))), eye(size(y)))
  reshape(J, list(...shape(y), ...shape(x)))
}
# hessian(f): x -> matrix of second derivatives of a real function. hessian(f; sparse = true): a sparse matrix; sparse = sparsity(grad(f), x;
# symmetric = true): on this pattern
hessian(f; sparse = false) = x -> if kind(sparse) == "array" { if sparse { _sparse_hessian(f, x) } else { _hessian(f, x) } } else { _jacobian_on(grad(f), x, sparse) }
_hessian(f, x) = if kind(x) == "array" { _jacobian(grad(f), x) } else {
  (v, back) = flatten(x)
  _jacobian(grad(w -> f(back(w))), v)
}
# hvp(f, x, v): hessian of f at x times v, without forming the matrix
hvp(f, x, v) = jvp(grad(f), x, v)[1]
# laplacian(f): x -> sum of the pure second derivatives
laplacian(f) = x -> sum(map(d -> 2 * _jet(f, x, (d, 0.0))[1][1], eye(len(x))))
# divergence(f): x -> sum of df_i/dx_i of a vector field
divergence(f) = x -> trace(_jacobian(f, x))
# curl(f): x -> rotation of a vector field in three dimensions
curl(f) = x -> {
  J = _jacobian(f, x)
  [J[2, 1] - J[1, 2], J[0, 2] - J[2, 0], J[1, 0] - J[0, 1]]
}
# taylor(f, x, n): coefficients c_0 .. c_n of f(x + s) = sum c_k s^k, along a leading axis; c_k = f^(k)(x)/k!
taylor(f, x, n) = if n == 0 { stack(f(x)) } else {
  (y, c) = _jet(f, f64(x), _directions(f64(x), n))
  stack(y, ...c)
}
_directions(x, n) = map(k -> if k == 0 { if rank(x) == 0 { 1.0 } else { ones_like(x) } } else { 0.0 }, (...(0..n)))
# jet(f, x, (d1, d2, ...)): (f(x), derivatives 1, 2, ... of s -> f(x(s))), where d_k is the k-th derivative of x(s)
jet(f, x, dxs) = {
  assert(kind(dxs) == "tuple" or kind(dxs) == "list", "a jet takes its directions as a tuple (d1, d2, ...)")
  n = len(dxs)
  (y, c) = _jet(f, x, map(k -> dxs[k] * (1 / _factorial(k + 1)), (...(0..n))))
  (y, map(k -> c[k] * _factorial(k + 1), (...(0..n))))
}
# as literals, which take the dtype of what they meet
_factorial(n) = (
  1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0, 40320.0, 362880.0, 3628800.0, 39916800.0, 479001600.0, 6227020800.0, 87178291200.0,
  1307674368000.0, 20922789888000.0, 355687428096000.0, 6402373705728000.0, 1.21645100408832e17, 2.43290200817664e18, 5.109094217170944e19,
  1.1240007277776077e21, 2.585201673888498e22, 6.204484017332394e23, 1.5511210043330986e25, 4.0329146112660565e26, 1.0888869450418352e28,
  3.0488834461171387e29, 8.841761993739702e30, 2.6525285981219107e32, 8.222838654177922e33, 2.631308369336935e35, 8.683317618811886e36,
  2.9523279903960416e38, 1.0333147966386145e40, 3.7199332678990125e41, 1.3763753091226346e43, 5.230226174666011e44, 2.0397882081197444e46,
  8.159152832478977e47, 3.345252661316381e49, 1.40500611775288e51, 6.041526306337383e52, 2.658271574788449e54, 1.1962222086548019e56,
  5.502622159812089e57, 2.5862324151116818e59, 1.2413915592536073e61, 6.082818640342675e62, 3.0414093201713376e64, 1.5511187532873822e66,
  8.065817517094388e67, 4.2748832840600255e69, 2.308436973392414e71, 1.2696403353658276e73, 7.109985878048635e74, 4.0526919504877214e76,
  2.3505613312828785e78, 1.3868311854568984e80, 8.32098711274139e81, 5.075802138772248e83, 3.146997326038794e85, 1.98260831540444e87,
  1.2688693218588417e89
)[n]
# nth_derivative(f, x, n): f^(n)(x) of a function of a number, by one Taylor expansion
nth_derivative(f, x, n) = taylor(f, x, n)[-1] * _factorial(n)

# check_grad(f, x): largest disagreement between reverse mode, forward mode and central differences, relative to the gradient
check_grad(f, x) = {
  (v, back) = flatten(x)
  g = w -> f(back(w))
  r = grad(g)(v)
  fwd = map(d -> jvp(g, v, d)[1], eye(len(v)))
  h = 1e-3
  diffs = map(d -> (8 * (g(v + h * d) - g(v - h * d)) - (g(v + 2h * d) - g(v - 2h * d))) / (12h), eye(len(v)))
  scale = max(1e-300, norm(r))
  (reverse_forward = norm(r - fwd) / scale, differences = norm(r - diffs) / scale)
}

# Turns of a loop that are run for nothing but the state after them, when it is run backwards with s snapshots, one of them the state at the
# beginning: r n - C(s + r, r - 1) with the least r for which n <= C(s + r, s). Griewank and Walther, ACM Trans. Math. Softw. 26 (2000).
_repeated_turns(n, s) = {
  r = 0
  all = 1
  before = 0
  s = max(min(s, n), 1)
  if s == 1 { n * (n - 1) // 2 } else {
    while all < n { r += 1; before = all; all = all * (s + r) // r }
    if n < 2 { 0 } else { r * n - before * (s + r) // (s + 1) }
  }
}

# why a loop keeps tapes, in the order of TapeReason (autodiff/linearise.h)
_tape_reasons = ("", "it prints or draws random numbers, and would again", "a function that calls itself is called in it", "an array that it carries changes its length from turn to turn", "it carries a value whose type is known only when it runs")
_explain_loop(loop) = if loop[1] < 0 {
  why = ""
  for (k, reason) in enumerate(_tape_reasons) { if k == loop[2] { why = reason } }
  "loop at line {loop[0]} keeps tapes, no snapshots: {why}"
} else {
  (line, n, bytes, rows, swept) = (loop[0], loop[1], loop[2], loop[3], loop[4])
  s = max(rows - swept, 1)
  t = _repeated_turns(n, s)
  how = if swept == 1 { "" } else { ", after one sweep that counts the turns" }
  "loop at line {line}: {n} turns, {bytes} bytes for a snapshot. {s} snapshots{if rows > s { " and the last state" } else { "" }} take {rows * bytes} bytes; {t} turns are run again, recompute factor {if n > 0 { t / n } else { 0.0 }:.3f}{how}"
}

_explain_loops(loops) = if len(loops) == 0 { "no loop keeps snapshots" } else {
  text = _explain_loop(loops[0])
  for k in list(...(1..len(loops))) { text = "{text}\n{_explain_loop(loops[k])}" }
  text
}
