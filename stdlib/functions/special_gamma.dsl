# special_gamma.dsl - the gamma and beta functions, complete and incomplete, and
# the zeta functions, with their derivatives.
#
# The values come from the C library, GSL, or solvers/special;
# docs/reference/special.md lists their errors. The special_* modules have the
# names, the derivative rules, and functions that reduce to others. Definitions:
# NIST Handbook of Mathematical Functions, dlmf.nist.gov.
#
# Contract of the special_* modules:
# - All functions are element-wise with broadcasting, in f64. A result of f32 is
#   rounded to f32; integers count as real; complex arguments are an error.
# - A function is NaN outside its domain, and infinite or NaN at a pole.
# - Derivative rules use functions of these modules, so derivatives exist in
#   every mode and of every order.
# - An order or parameter without a derivative (integer orders, parameters of
#   hypergeometric functions) is reported before the program runs.

# The message of a rule about an argument that has no derivative.
_fixed(name, what, argument, d) =
  if not _absent(d) {
    _refuse(
      "{name} has no derivative by its {what} `{argument}`; stop_gradient({argument}) holds it "
      "fixed")
  }

# ---- gamma function family

# gamma(x): the gamma function; (n - 1)! for integers n.
#   x is real, of any shape; NaN at 0, -1, -2 ... Derivative: gamma(x)
#   digamma(x). Relative error below 4e-15 (C library). [DLMF 5.2.1]
#     gamma([5, 0.5])^2           #~ [576, pi]
gamma(x) = _each("gamma", x)
derivative gamma(x) = y * digamma(x)
# lgamma(x): logarithm of |gamma(x)|.
#   x is real, of any shape; inf at 0, -1, -2 ... Derivative: digamma(x). [DLMF
#   5.2.1]
#     lgamma(1000)                #~ 5905.220423209181
lgamma(x) = _each("lgamma", x)
derivative lgamma(x) = digamma(x)
# digamma(x): derivative of lgamma.
#   NaN at 0, -1, -2 ... Derivative: polygamma(1, x). [DLMF 5.2.2; GSL]
#     digamma(1)                  #~ -0.5772156649015329
digamma(x) = _each("digamma", x)
derivative digamma(x) = polygamma(1, x)
# polygamma(n, x): the n-th derivative of digamma.
#   n is an integer >= 0. NaN for x below -1000 and n above 1. No derivative
#   with respect to n. [DLMF 5.15; GSL]
#     polygamma(1, 1)             #~ pi^2 / 6
polygamma(n, x) = _each("polygamma", n, x)
derivative polygamma(n, x), dn, dx = {
  _fixed("polygamma", "order", "n", dn)
  polygamma(n + 1, x) * dx
}
# beta(a, b): the beta function gamma(a) gamma(b) / gamma(a + b)
#     beta(2, 3)                  #~ 1/12
#     beta'(2.0, 3.0)             #~ (digamma(2) - digamma(5)) / 12
beta(a, b) = _each("beta", a, b)
derivative beta(a, b) = (_beta_slope(a, b), _beta_slope(b, a))
# polygamma(n, a + b) - polygamma(n, a), without cancellation when b is small
# compared to a.
_polygamma_rise(n, a, b) = _each("polygamma_rise", n, a, b)
derivative _polygamma_rise(n, a, b), dn, da, db = _polygamma_rise(n + 1, a, b) * da +
  polygamma(n + 1, a + b) * db
# lbeta(a, b): logarithm of |beta(a, b)|.
#   There is no cancellation between large arguments. [DLMF 5.12, 5.11]
#     lbeta(1e8, 1e8)             #~ -138629444.0568173 tol 1e-14
lbeta(a, b) = _each("lbeta", a, b)
derivative lbeta(a, b) = (-_polygamma_rise(0, a, b), -_polygamma_rise(0, b, a))
# factorial(n): n!; gamma(n + 1) for real n.
#   Exact up to 18!. Derivative: n! digamma(n + 1).
#     factorial([0, 5, 10])       #~ [1, 120, 3628800]
factorial(n) = _each("factorial", n)
derivative factorial(n) = y * digamma(n + 1)
# binomial(n, k): binomial coefficient, the number of ways to choose k of n; for
# real arguments by the gamma function.
#   Exact up to 4e15; 0 for integer k below 0 or above an integer n >= 0. [DLMF
#   1.2, 5.21]
#     binomial(5, [0, 1, 2, 6])   #> [1, 5, 10, 0]
binomial(n, k) = _each("binomial", n, k)
derivative binomial(n, k) =
  (y * _polygamma_rise(0, n - k + 1, k), y * _polygamma_rise(0, k + 1, n - 2 * k))

# ---- incomplete gamma and beta functions

# gammainc(a, x): the regularised lower incomplete gamma function, integral of
# t^(a-1) exp(-t) / gamma(a) from 0 to x.
#   a, x >= 0. Derivatives of every order with respect to x and a; those with
#   respect to a differentiate series and continued fractions. [DLMF 8.2]
#     gammainc(1, 2)              #~ 1 - exp(-2)
gammainc(a, x) = _each("gammainc", a, x)
derivative gammainc(a, x), da, dx = _gamma_density(a, x) * dx +
  (if _absent(da) { 0.0 } else { _gammainc_by_a(a, x) * da })
# gammaincc(a, x): 1 - gammainc(a, x), without cancellation
#     gammaincc(1, 50)            #~ exp(-50)
gammaincc(a, x) = _each("gammaincc", a, x)
derivative gammaincc(a, x), da, dx = -_gamma_density(a, x) * dx -
  (if _absent(da) { 0.0 } else { _gammainc_by_a(a, x) * da })
_gammainc_by_a(a, x) =
  { at = a + 0.0 * x; jvp(a -> _gammainc_sum(a, x + 0 * a), at, ones_like(at))[1] }
# with respect to x it is the derivative of the density, which is also valid at
# x = 0
derivative _gammainc_by_a(a, x), da,
  dx = (if _absent(dx) { 0.0 } else { _gamma_density_by_a(a, x) * dx }) +
  (if _absent(da) { 0.0 } else {
    jvp(a -> jvp(a -> _gammainc_sum(a, x + 0 * a), a, ones_like(a))[1], a + 0.0 * y,
      da + 0.0 * y)[1]
  })
# gammaincinv(a, p): x with gammainc(a, x) = p.
#   0 <= p <= 1. Derivatives with respect to both arguments follow from the
#   implicit function theorem.
#     gammaincinv(2, gammainc(2, 3))   #~ 3
gammaincinv(a, p) = _each("gammaincinv", a, p)
derivative gammaincinv(a, p), da, dp = {
  change = if _absent(da) {
    dp
  } else {
    dp - jvp(a -> gammainc(a, y + 0 * a), a + 0.0 * y, da + 0.0 * y)[1]
  }
  change / _gamma_density(a, y)
}
# gamma_lower(a, x), gamma_upper(a, x): the incomplete gamma functions,
# integrals of t^(a-1) exp(-t) from 0 to x and from x to infinity.
#   gamma_upper also accepts a <= 0 with x > 0; it then has a derivative with
#   respect to a for a >= -0.2. [DLMF 8.2]
#     gamma_lower(3, 2) + gamma_upper(3, 2)   #~ gamma(3)
gamma_lower(a, x) = _each("gamma_lower", a, x)
derivative gamma_lower(a, x), da, dx = x^(a - 1) * exp(-x) * dx +
  (if _absent(da) {
    0.0
  } else {
    jvp(a -> gamma(a) * gammainc(a, x + 0 * a), a + 0.0 * y, da + 0.0 * y)[1]
  })
# gamma_upper(a, x): see gamma_lower
#     gamma_upper(1, 2)           #~ exp(-2)
gamma_upper(a, x) = _each("gamma_upper", a, x)
derivative gamma_upper(a, x), da, dx = -x^(a - 1) * exp(-x) * dx +
  (if _absent(da) { 0.0 } else { _gamma_upper_slope(a, x) * da })
# betainc(a, b, x): the regularised incomplete beta function, integral of
# t^(a-1) (1-t)^(b-1) / beta(a, b) from 0 to x.
#   a, b > 0, 0 <= x <= 1. Derivatives with respect to all three; those with
#   respect to a and b differentiate the continued fraction. [DLMF 8.17]
#     betainc(2, 3, 0.5)          #~ 11/16
betainc(a, b, x) = _each("betainc", a, b, x)
derivative betainc(a, b, x), da, db, dx = _beta_density(a, b, x) * dx +
  _betainc_by_parameters(a, b, x, y, da, db)
_betainc_by_parameters(a, b, x, y, da, db) =
  (if _absent(da) { 0.0 } else { _betainc_slope(a, b, x, 1.0, 0.0) * da }) +
  (if _absent(db) { 0.0 } else { _betainc_slope(a, b, x, 0.0, 1.0) * db })
# u times the derivative with respect to a plus v times that with respect to b,
# for constants u and v. Derivatives with respect to x are those of the density,
# which are also valid at the ends.
_betainc_slope(a, b, x, u, v) = {
  like = 0.0 * (a + b + x)
  jvp(p -> _betainc_sum(p[0], p[1], x + 0 * p[0]), (a + like, b + like),
    (u + stop_gradient(like), v + stop_gradient(like)))[1]
}
derivative _betainc_slope(a, b, x, u, v), da, db, dx, du, dv =
  (if _absent(dx) {
    0.0
  } else {
    (u * _beta_density_by_a(a, b, x) + v * _beta_density_by_b(a, b, x)) * dx
  }) +
  (if _absent(da) and _absent(db) { 0.0 } else {
    direction = (u + 0.0 * stop_gradient(y), v + 0.0 * stop_gradient(y))
    jvp(q -> jvp(p -> _betainc_sum(p[0], p[1], x + 0 * p[0]), q, direction)[1],
      (a + 0.0 * y, b + 0.0 * y), ((if _absent(da) { 0.0 } else { da }) + 0.0 * y,
        (if _absent(db) { 0.0 } else { db }) + 0.0 * y))[1]
  })
# betaincinv(a, b, p): x with betainc(a, b, x) = p
#     betaincinv(2, 3, 11/16)     #~ 0.5
betaincinv(a, b, p) = _each("betaincinv", a, b, p)
derivative betaincinv(a, b, p), da, db,
  dp = (dp - _betainc_by_parameters(a, b, y, y, da, db)) / _beta_density(a, b, y)

# ---- densities

# x^(a-1) exp(-x) / gamma(a) and x^(a-1) (1-x)^(b-1) / beta(a, b), accurate for
# large parameters.
_gamma_density(a, x) = _each("gamma_density", a, x)
# The rules with respect to x are (a-1)/x and the like times the density. At the
# ends, where that is 0/0 or 0 times infinity, they use powers that are
# differentiable there.
derivative _gamma_density(a, x) = (
  _gamma_density_by_a(a, x),
  where(x == 0, _slope_of_power(a - 1, x) * exp(-x) / gamma(a), y * (a - 1) / x) - y
)
_gamma_density_by_a(a, x) = {
  y = _gamma_density(a, x)
  # without 1/a in digamma(a)
  next = _gamma_density(a + 1, x) / where(x == 0, 1.0, x)
  where(x == 0, _power_log(a - 1, x) * exp(-x) / gamma(a) - digamma(a) * y,
    y * (log(x) - digamma(1 + a)) + next)
}
_beta_density(a, b, x) = _each("beta_density", a, b, x)
derivative _beta_density(a, b, x) = (
  _beta_density_by_a(a, b, x),
  _beta_density_by_b(a, b, x),
  where(x == 0 or x == 1,
    (_slope_of_power(a - 1, x) * (1 - x)^(b - 1) - x^(a - 1) * _slope_of_power(b - 1, 1 - x)) /
    beta(a, b),
    y * ((a - 1) / x - (b - 1) / (1 - x)))
)
_beta_density_by_a(a, b, x) = {
  y = _beta_density(a, b, x)
  # without 1/a in digamma(a), for the smaller parameter a
  next = _beta_density(a + 1, b, x) / where(x == 0, 1.0, x)
  where(where(x == 0, true, a > b), where(x == 0, _power_log(a - 1, x) / beta(a, b), y * log(x)) +
    y * _polygamma_rise(0, a, b),
    y * (log(x) + _polygamma_rise(0, a + 1, b)) + (next - y) / (a + b))
}
_beta_density_by_b(a, b, x) = {
  y = _beta_density(a, b, x)
  next = _beta_density(a, b + 1, x) / where(x == 1, 1.0, 1 - x)
  where(where(x == 1, true, b > a),
    where(x == 1, _power_log(b - 1, 1 - x) / beta(a, b), y * log1p(-x)) +
    y * _polygamma_rise(0, b, a),
    y * (log1p(-x) + _polygamma_rise(0, b + 1, a)) + (next - y) / (a + b))
}
# q x^(q-1), and 0 for q = 0, also at x = 0.
_slope_of_power(q, x) = where(q == 0, 0.0, q * x^(where(q == 0, 1.0, q) - 1))
# x^q log(x), which is 0 at x = 0 for q > 0.
_power_log(q, x) = where(x == 0, where(q > 0, 0.0, -inf), x^q * log(x))
derivative _power_log(q, x) = (
  where(x == 0, where(q > 0, 0.0, inf), y * log(x)),
  where(q == 0, 1 / x, q * _power_log(q - 1, x) + x^(q - 1))
)
# Logarithms of the densities, also where the densities underflow.
_gamma_log_density(a, x) = _each("gamma_log_density", a, x)
derivative _gamma_log_density(a, x) = (log(x) - digamma(a), (a - 1) / x - 1)
_beta_log_density(a, b, x) = _each("beta_log_density", a, b, x)
derivative _beta_log_density(a, b, x) =
  (log(x) + _polygamma_rise(0, a, b), log1p(-x) + _polygamma_rise(0, b, a),
    (a - 1) / x - (b - 1) / (1 - x))

# Logarithm of the probability of k successes in n trials of probability p.
_binomial_log(n, k, p) = _each("binomial_log", n, k, p)
derivative _binomial_log(n, k, p) = (_polygamma_rise(0, n - k + 1, k) + log1p(-p),
  _polygamma_rise(0, k + 1, n - 2 * k) + log(p) - log1p(-p), where(k == 0, 0.0, k) / p -
  (n - k) / (1 - p))

# 1 - betainc(a, b, x), also where it is near 1 or 0.
_betaincc(a, b, x) = _each("betaincc", a, b, x)
derivative _betaincc(a, b, x), da, db, dx = -_beta_density(a, b, x) * dx -
  _betainc_by_parameters(a, b, x, y, da, db)
# betainc and its relatives as functions of the odds r = x/(1 - x) from 0 to
# infinity, where neither end suffers from rounding. The density is r^(a-1) (1 +
# r)^(-a-b) / beta(a, b), that of the ratio of two gamma variables.
_odds_inc(a, b, r) = _each("odds_inc", a, b, r)
derivative _odds_inc(a, b, r), da, db, dr = _odds_density(a, b, r) * dr +
  _betainc_by_parameters(a, b, _of_odds(r), y, da, db)
_odds_inc_rest(a, b, r) = _each("odds_inc_rest", a, b, r)
derivative _odds_inc_rest(a, b, r), da, db, dr = -_odds_density(a, b, r) * dr -
  _betainc_by_parameters(a, b, _of_odds(r), y, da, db)
_odds_inc_inverse(a, b, p) = _each("odds_inc_inverse", a, b, p)
derivative _odds_inc_inverse(a, b, p), da, db,
  dp = (dp - _betainc_by_parameters(a, b, _of_odds(y), y, da, db)) /
  _odds_density(a, b, y)
_odds_density(a, b, r) = _each("odds_density", a, b, r)
derivative _odds_density(a, b, r) =
  (y * (_log_of_odds(r) + _polygamma_rise(0, a, b)), y * (_polygamma_rise(0, b, a) - log1p(r)),
    y * ((a - 1) / r - (a + b) / (1 + r)))
_odds_log_density(a, b, r) = _each("odds_log_density", a, b, r)
derivative _odds_log_density(a, b, r) =
  (_log_of_odds(r) + _polygamma_rise(0, a, b), _polygamma_rise(0, b, a) - log1p(r),
    (a - 1) / r - (a + b) / (1 + r))
# x for the odds r, and its logarithm.
_of_odds(r) = where(r < 1, min(r, 1.0) / (1 + min(r, 1.0)), 1 / (1 + 1 / max(r, 1.0)))
_log_of_odds(r) = where(r < 1, log(r) - log1p(r), -log1p(1 / where(r < 1, 1.0, r)))

# ---- series and continued fractions, differentiable by parameters

# gammainc in steps that are differentiable with respect to a: the power series
# (DLMF 8.11.4) for x < a + 1, otherwise the continued fraction (DLMF 8.9.2).
# The number of iterations is the same for all elements. Each branch receives
# arguments of its own range only.
_gammainc_sum(a, x) = {
  left = x < a + 1
  xs = where(left, x, 0.5)
  as = where(left, a, 1.0)
  n = i64(30 + 8 * sqrt(max(stop_gradient(max(a, x)))))
  term = 1.0 + 0.0 * as
  total = term
  for k in 1..n { term = term * xs / (as + k); total = total + term }
  xf = where(left, 3.0, x)
  af = where(left, 1.0, a)
  f = _upper_fraction(af, xf, n)
  where(left,
    exp(as * log(where(xs == 0, 1.0, xs)) - xs - lgamma(1 + as)) * where(xs == 0, 0.0, total),
    1 - af * exp(af * log(xf) - xf - lgamma(1 + af)) / f)
}
# x^a exp(-x) / gamma_upper(a, x) by n terms of the continued fraction x + 1 - a
# - 1(1 - a) / (x + 3 - a - 2(2 - a) / (x + 5 - a - ..., evaluated backwards.
_upper_fraction(a, x, n) = {
  f = x + 2 * n + 1 - a
  for k in 0..n { m = n - k; f = x + 2 * m - 1 - a - m * (m - a) / f }
  f
}
# betainc in the same way, by its continued fraction (DLMF 8.17.22) on the side
# of fast convergence.
_betainc_sum(a, b, x) = {
  swap = x > (a + 1) / (a + b + 2)
  p = where(swap, b, a)
  q = where(swap, a, b)
  z = where(swap, 1 - x, x)
  n = i64(40 + 5 * sqrt(max(stop_gradient(max(a, b)))))
  f = 1.0 + 0 * z
  for k in 0..n {
    m = n - k
    f = 1 - (p + m) * (p + q + m) * z / ((p + 2 * m) * (p + 2 * m + 1)) / f
    f = 1 + m * (q - m) * z / ((p + 2 * m - 1) * (p + 2 * m)) / f
  }
  # iteration m = 0 is the first partial denominator
  f = 1 - (p + q) * z / (p + 1) / f
  inner = 0 < z and z < 1
  safe = where(inner, z, 0.5)
  value = where(inner, exp(p * log(safe) + q * log1p(-safe) - _lbeta_rest(p, q)) / f, z)
  where(swap, 1 - value, value)
}

# ---- zeta functions

# zeta(s), zeta(s; a): the Riemann zeta function; with a > 0 the Hurwitz zeta
# function (s > 1), the sum of (k + a)^-s over k = 0, 1, ...
#   s is real; inf at 1. Derivatives of every order with respect to s
#   (Euler-Maclaurin formula) and a. [DLMF 25.2, 25.11; GSL]
#     zeta(2)                     #~ pi^2 / 6
#     zeta(2; a = 0.5)            #~ pi^2 / 2
zeta(s; a = none) = if kind(a) == "none" { _zeta(s) } else { _hurwitz(s, a) }
_zeta(s) = _each("zeta", s)
derivative _zeta(s), ds = jvp(_zeta_formula, s + 0.0, ds)[1]
_zeta_formula(s) =
  where(s < 0, _zeta_reflected(where(s < 0, s, -1.0)), _zeta_sum(where(s < 0, 2.0, s), 1.0))
# For s < 0, where the sum loses digits. [DLMF 25.4.1]
_zeta_reflected(s) =
  2 * exp((s - 1) * log(2π) + lgamma(1 - s)) * sin(0.5π * s) * _zeta_sum(1 - s, 1.0)
_hurwitz(s, a) = _each("hurwitz", s, a)
derivative _hurwitz(s, a), ds,
  da = (if _absent(ds) { 0.0 } else { jvp(s -> _zeta_sum(s, a), s + 0.0 * y, ds + 0.0 * y)[1] }) -
  s * _hurwitz(s + 1, a) * da
# DLMF 25.11.28 with N = 12 and ten Bernoulli numbers, divided by the
# factorials.
_zeta_sum(s, a) = {
  total = 0.0 * s
  for k in 0..12 { total = total + exp(-s * log(a + k)) }
  b = a + 12
  tail = exp(-s * log(b))
  total = total + tail * b / (s - 1) + 0.5 * tail
  factor = s * tail / b
  for k in 0..10 {
    total = total + _bernoulli_over_factorial[k] * factor
    factor = factor * (s + 2 * k + 1) * (s + 2 * k + 2) / (b * b)
  }
  total
}
_bernoulli_over_factorial = [1/12, -1/720, 1/30240, -1/1209600, 1/47900160, -691/1307674368000,
  1/74724249600, -3617/10670622842880000, 43867/5109094217170944000,
  -174611/802857662698291200000.0]
