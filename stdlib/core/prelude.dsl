# prelude.dsl - constants, everyday element-wise functions, and derivatives
# built on the builtin transforms.

# pi, π, e, inf, nan, im: constants; im is the imaginary unit
#     e^(im * π)                    #~ -1
#     -1 / 0.0 == -inf              #> true
pi = 3.141592653589793
π = 3.141592653589793
e = 2.718281828459045
inf = 1 / 0.0
nan = 0.0 / 0.0
im = 1im
# args: the command line's arguments after the file name, a list of strings. The
# list is empty when there are none.
#     len(args)                     #> 0
args = list()

# ---- numbers

# ceil(x): smallest integer not below x
#     ceil([-1.5, 1.5])             #> [-1, 2]
ceil(x) = -floor(-x)
# Rounds with powers of ten that are exact in f64, up to 10^22. A value without
# digits after the given place is returned unchanged.
_round_to(x, n) = {
  up = 10.0^max(n, 0)
  down = 10.0^max(-n, 0)
  kept = stop_gradient(abs(x / down) * up) >= 4503599627370496
  where(down == inf, 0.0 * x,
    where(kept, stop_gradient(x),
      round(x / where(down == inf, 1.0, down) * where(kept, 1.0, up)) / up * down))
}
# trunc(x): the integer part, rounded towards 0
#     trunc([-1.5, 1.5])            #> [-1, 1]
trunc(x) = where(x < 0, -floor(-x), floor(x))
# isnan(x): whether each element is NaN
#     isnan([1, 0/0.0, inf])        #> [false, true, false]
isnan(x) = not (x == x)
# isfinite(x): whether each element is neither infinite nor NaN
#     isfinite([1, nan, inf])       #> [true, false, false]
isfinite(x) = abs(x) < inf
# asinh(x), acosh(x), atanh(x): inverse hyperbolic functions. For complex x they
# return principal values.
#     asinh(sinh(0.5))              #~ 0.5
#     acosh(cosh(0.5))              #~ 0.5
#     atanh([0.5, 2 + 0im])         #~ [0.5493061443340549, 0.5493061443340549 + π/2*im]
asinh(x) = if _is_complex(x) { _complex_asinh(x) } else {
  a = where(x < 0, -x, x) # without sign and abs, whose derivatives at 0 are 0
  large = a > 1e8
  b = where(large, 1.0, a)
  where(x < 0, -1.0, 1.0) * where(large, log(where(large, a, 1.0)) + 0.6931471805599453,
    log1p(b + b^2 / (1 + sqrt(1 + b^2))))
}
derivative asinh(x) = _asinh_slope(x)
_asinh_slope(x) = if _is_complex(x) { 1 / sqrt(1 + x * x) } else {
  a = where(x < 0, -x, x)
  large = a > 1e8
  where(large, 1 / where(large, a, 1.0), 1 / sqrt(1 + where(large, 1.0, x)^2))
}
acosh(x) = if _is_complex(x) { _complex_acosh(x) } else {
  large = x > 1e8
  t = where(large, 2.0, x) - 1
  where(large, log(where(large, x, 1.0)) + 0.6931471805599453, log1p(t + sqrt(t * (t + 2))))
}
atanh(x) = if _is_complex(x) { _complex_atanh(x) } else {
  a = where(x < 0, -x, x)
  where(x < 0, -0.5, 0.5) * log1p(2 * a / (1 - a))
}
derivative atanh(x) = 1 / (1 - x * x)
_is_complex(x) = dtype(x) == "c128" or dtype(x) == "c64"
# sech(x): 1/cosh(x), without overflow
#     sech(0.0)                     #> 1.0
sech(x) = if _is_complex(x) { 1 / cosh(x) } else { e = exp(where(x < 0, x, -x)); 2 * e / (1 + e^2) }
derivative sech(x) = -y * tanh(x)
# log2(x), log10(x): logarithms to base 2 and 10.
#   The result is exact when x is a power of the base: floor(log10(1000)) is 3.
#     log2(8.0)                     #> 3.0
#     log10(1000.0)                 #> 3.0
log2(x) = _log_to(x, 2.0, 0.6931471805599453)
log10(x) = _log_to(x, 10.0, 2.302585092994046)
# Near an integer n the logarithm is computed as n + log(x / base^n), so that
# rounding does not change n.
_log_to(x, base, scale) = {
  y = log(x) / scale
  if _is_complex(x) { y } else {
    near = if dtype(y) == "f32" { 1e-6 } else { 1e-15 }
    n = round(stop_gradient(y))
    power = _as_real_of(base, y)^n
    exact = abs(stop_gradient(y) - n) <= near * abs(n) and power > 0 and power < inf
    rest = (stop_gradient(x) - power) / (where(exact, power, 1.0) * scale)
    y + where(exact, n - stop_gradient(y) + rest, 0.0)
  }
}
# relu(x): max(x, 0), with derivative 0 at 0
#     relu([-2, 3])                 #> [0, 3]
relu(x) = where(x > 0, x, where(x == x, 0, x))
# sigmoid(x): 1/(1 + exp(-x)), without overflow or cancellation
#     sigmoid([-1000.0, 0, 1000])   #> [0, 0.5, 1]
sigmoid(x) = if _is_complex(x) { 0.5 * (1 + tanh(0.5 * x)) } else {
  e = exp(where(x < 0, x, -x))
  where(x < 0, e, 1.0) / (1 + e)
}
derivative sigmoid(x) = _sigmoid_slope(x)
_sigmoid_slope(x) = if _is_complex(x) { 0.25 * sech(0.5 * x)^2 } else {
  e = exp(where(x < 0, x, -x))
  e / (1 + e)^2
}
derivative _sigmoid_slope(x) = -y * tanh(0.5 * x)
# softplus(x): log(1 + exp(x)), without overflow
#     softplus([0.0, 1000])         #~ [log(2), 1000]
softplus(x) = where(x > 0, x, 0) + log1p(exp(where(x > 0, -x, x)))
derivative softplus(x) = sigmoid(x)
# angle(z): argument of a complex number, radians
#     angle(1im)                    #~ π/2
angle(z) = atan2(imag(z), real(z))
# Partial derivatives of atan2(a, b) with respect to a and b. Both are scaled by
# the larger argument, whose square may overflow.
_slopes_of_angle(a, b) = {
  t = 1 / max(abs(a), abs(b))
  s = stop_gradient(where(t < inf, where(t > 0, t, 1), 1))
  (p, q) = (a * s, b * s)
  r = p * p + q * q
  (q / r * s, -p / r * s)
}
# clamp(x, lo, hi): x limited to the interval [lo, hi]
#     clamp([-1, 0.5, 7], 0, 1)     #> [0, 0.5, 1]
clamp(x, lo, hi) = min(max(x, lo), hi)

# t as a real scalar of x's precision
_as_real_of(t, x) = if dtype(x) == "f32" or dtype(x) == "c64" { f32(t) } else { t }

# ---- derivatives

# jacobian(f): x -> matrix of partial derivatives, with the result's axes first.
# x is a vector; for a scalar x the result is f'.
#   Forward mode computes one column for each element of x. Reverse mode
#   computes one row for each element of f(x). It is used when f(x) has at most
#   half as many elements as x.
#   jacobian(f; sparse = true) returns a sparse matrix, size(f(x)) by size(x).
#   Then x is any real array or structure of arrays. The pattern is found once
#   for the given shapes and captured values. sparse = sparsity(f, x) uses a
#   given pattern.
#   For f(x, p), jacobian(f)(x, p) differentiates with respect to x; hessian,
#   laplacian, divergence and curl do the same.
#     jacobian(x -> [x[0] * x[1], x[1]^2])([2.0, 3])   #> [[3, 2], [0, 6]]
jacobian(f; sparse = false) = {
  _want_function("jacobian", f)
  (x, ...others) -> {
    g = _by_first("jacobian", f, x, others)
    if kind(sparse) != "array" {
      _jacobian_on(g, x, sparse)
    } else if sparse {
      _sparse_jacobian(g, x)
    } else {
      _jacobian(g, x)
    }
  }
}
# Returns f as a function of its first argument, with the others fixed. It
# refuses a scalar first argument beside others: the caller may have meant the
# matrix with respect to all arguments.
_by_first(who, f, x, others) =
  if len(others) == 0 { f } else if kind(x) == "array" and rank(x) == 0 {
    (v, x) =
      if len(others) == 1 { ("v[0], v[1]", "x, y") } else { ("v[0], v[1], ...", "x, y, ...") }
    _refuse(
      "{who} is that of a function of one vector: {who}(v -> f({v}))([{x}]); by one number of "
      "several it is ∂(f, i)({x})")
  } else { x -> f(x, ...others) }
_want_function(who, f) = if kind(f) != "function" {
  _refuse("{who} takes a function, not {_axes_in_words(f)}: {who}(f)(x)")
}
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
_by_columns(J, x, y) =
  reshape(transpose(reshape(J, size(x), size(y))), list(...shape(y), ...shape(x)))
# Reverse mode: one cotangent for each element of the result.
_by_rows(f, x) = {
  (y, back) = vjp(f, x)
  J = map(w -> back(reshape(w, shape(y))), eye(size(y)))
  reshape(J, list(...shape(y), ...shape(x)))
}
# hessian(f): x -> matrix of second derivatives of a real scalar function.
# hessian(f; sparse = true) returns a sparse matrix; sparse = sparsity(grad(f),
# x; symmetric = true) uses a given pattern.
#     hessian(x -> x[0]^2 * x[1])([2.0, 3])   #> [[6, 4], [4, 0]]
hessian(f; sparse = false) = {
  _want_function("hessian", f)
  (x, ...others) -> {
    g = _by_first("hessian", f, x, others)
    if kind(sparse) != "array" {
      _jacobian_on(grad(g), x, sparse)
    } else if sparse {
      _sparse_hessian(g, x)
    } else {
      _hessian(g, x)
    }
  }
}
_hessian(f, x) = if kind(x) == "array" { _jacobian(grad(f), x) } else {
  (v, back) = flatten(x)
  _jacobian(grad(w -> f(back(w))), v)
}
# hvp(f, x, v): Hessian-vector product: the Hessian of f at x times v, without
# forming the matrix
#     hvp(x -> sum(x^3), [1.0, 2], [1.0, 0])  #> [6, 0]
hvp(f, x, v) = jvp(grad(f), x, v)[1]
# laplacian(f): x -> sum of the second derivatives d²f/dx_i²
#     laplacian(x -> sum(x^3))([1.0, 2])      #> 18.0
laplacian(f) = (x, ...others) -> {
  g = _by_first("laplacian", f, x, others)
  _want_vector("laplacian(f)", x)
  sum(map(d -> 2 * _jet(g, x, (d, 0.0))[1][1], eye(len(x))))
}
# divergence(f): x -> sum of df_i/dx_i of a vector field
#     divergence(x -> x^2)([1.0, 2])          #> 6.0
divergence(f) = (x, ...others) -> {
  g = _by_first("divergence", f, x, others)
  _want_vector("divergence(f)", x)
  trace(_jacobian(g, x))
}
# curl(f): x -> curl of a vector field in three dimensions
#     curl(x -> [-x[1], x[0], 0.0])([1.0, 2, 3])   #> [0, 0, 2]
curl(f) = (x, ...others) -> {
  g = _by_first("curl", f, x, others)
  _want_vector("curl(f)", x)
  assert(len(x) == 3,
    "curl is that of a field in three dimensions; in the plane it is J[1, 0] - J[0, 1] of J = "
    "jacobian(f)(x)")
  J = _jacobian(g, x)
  [J[2, 1] - J[1, 2], J[0, 2] - J[2, 0], J[1, 0] - J[0, 1]]
}
# taylor(f, x, n): Taylor coefficients c_0 .. c_n of f(x + s) = sum c_k s^k,
# along a leading axis; c_k = f^(k)(x)/k!
#     taylor(exp, 0.0, 4)           #~ [1, 1, 1/2, 1/6, 1/24]
taylor(f, x, n) = if n == 0 { stack(f(x)) } else {
  at = x + 0.0
  (y, c) = _jet(f, at, _directions(at, n))
  stack(y, ...c)
}
_directions(x, n) =
  map(k -> if k == 0 { if rank(x) == 0 { _as_real_of(1.0, x) } else { ones_like(x) } } else { 0.0 },
    (...(0..n)))
# jet(f, x, (d1, d2, ...)): (f(x), derivatives 1, 2, ... of s -> f(x(s)) at s =
# 0), where d_k is the k-th derivative of x(s)
#     (y, d) = jet(exp, 0.0, (1.0, 0.0, 0.0))
#     d                             #> (1.0, 1.0, 1.0)
jet(f, x, dxs) = {
  assert(kind(dxs) == "tuple" or kind(dxs) == "list",
    "a jet takes its directions as a tuple (d1, d2, ...)")
  n = len(dxs)
  (y, c) = _jet(f, x, map(k -> dxs[k] * (1 / _factorial(k + 1)), (...(0..n))))
  (y, map(k -> c[k] * _factorial(k + 1), (...(0..n))))
}
# The factorials are literals, so that they take the dtype of the other operand.
_factorial(n) = (
  1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0, 40320.0, 362880.0, 3628800.0, 39916800.0,
  479001600.0, 6227020800.0, 87178291200.0, 1307674368000.0, 20922789888000.0, 355687428096000.0,
  6402373705728000.0, 1.21645100408832e17, 2.43290200817664e18, 5.109094217170944e19,
  1.1240007277776077e21, 2.585201673888498e22, 6.204484017332394e23, 1.5511210043330986e25,
  4.0329146112660565e26, 1.0888869450418352e28, 3.0488834461171387e29, 8.841761993739702e30,
  2.6525285981219107e32, 8.222838654177922e33, 2.631308369336935e35, 8.683317618811886e36,
  2.9523279903960416e38, 1.0333147966386145e40, 3.7199332678990125e41, 1.3763753091226346e43,
  5.230226174666011e44, 2.0397882081197444e46, 8.159152832478977e47, 3.345252661316381e49,
  1.40500611775288e51, 6.041526306337383e52, 2.658271574788449e54, 1.1962222086548019e56,
  5.502622159812089e57, 2.5862324151116818e59, 1.2413915592536073e61, 6.082818640342675e62,
  3.0414093201713376e64, 1.5511187532873822e66, 8.065817517094388e67, 4.2748832840600255e69,
  2.308436973392414e71, 1.2696403353658276e73, 7.109985878048635e74, 4.0526919504877214e76,
  2.3505613312828785e78, 1.3868311854568984e80, 8.32098711274139e81, 5.075802138772248e83,
  3.146997326038794e85, 1.98260831540444e87, 1.2688693218588417e89
)[n]
# nth_derivative(f, x, n): f^(n)(x) of a function of a scalar, by one Taylor
# expansion
#     nth_derivative(sin, 0.0, 5)   #~ 1
nth_derivative(f, x, n) = taylor(f, x, n)[-1] * _factorial(n)

# check_grad(f, x): largest disagreement between reverse mode, forward mode and
# central differences, relative to the gradient
#     check_grad(x -> sum(exp(x)), [0.0, 1]).reverse_forward < 1e-14   #> true
check_grad(f, x) = {
  (v, back) = flatten(x)
  g = w -> f(back(w))
  r = grad(g)(v)
  fwd = map(d -> jvp(g, v, d)[1], eye(len(v)))
  h = 1e-3
  diffs = map(d -> (8 * (g(v + h * d) - g(v - h * d)) - (g(v + 2h * d) - g(v - 2h * d))) / (12h),
    eye(len(v)))
  scale = max(1e-300, norm(r))
  (reverse_forward = norm(r - fwd) / scale, differences = norm(r - diffs) / scale)
}

# Number of loop iterations recomputed by reverse mode with s checkpoints, one
# of which is the initial state: r n - C(s + r, r - 1), where r is the least
# integer with n <= C(s + r, s). Griewank and Walther, ACM Trans. Math. Softw.
# 26 (2000).
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

# Why a loop keeps tapes, in the order of TapeReason
# (autodiff/reverse/linearise.h).
_tape_reasons = ("", "it prints or draws random numbers, and would again",
  "a function that calls itself is called in it",
  "an array that it carries changes its length from turn to turn",
  "it carries a value whose type is known only when it runs")
_explain_loop(loop) = if loop[1] < 0 {
  why = ""
  for (k, reason) in enumerate(_tape_reasons) { if k == loop[2] { why = reason } }
  "loop at line {loop[0]} keeps tapes, no snapshots: {why}"
} else {
  (line, n, bytes, rows, swept) = (loop[0], loop[1], loop[2], loop[3], loop[4])
  s = max(rows - swept, 1)
  t = _repeated_turns(n, s)
  how = if swept == 1 { "" } else { ", after one sweep that counts the turns" }
  ("loop at line {line}: {n} turns, {bytes} bytes for a snapshot. {s} "
    "snapshots{if rows > s { " and the last state" } else { "" }} take {rows * bytes} bytes; {t} "
    "turns are run again, recompute factor {if n > 0 { t / n } else { 0.0 }:.3f}{how}")
}

_explain_loops(loops) = if len(loops) == 0 { "no loop keeps snapshots" } else {
  text = _explain_loop(loops[0])
  for k in each(1, len(loops)) { text = "{text}\n{_explain_loop(loops[k])}" }
  text
}
