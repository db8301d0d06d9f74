# special.dsl - special functions with their derivatives.
#
# The values come from the C library, GSL, or solvers/special;
# docs/reference/special.md lists their errors. This file has the names, the
# derivative rules, and functions that reduce to others. Definitions: NIST
# Handbook of Mathematical Functions, dlmf.nist.gov.
#
# Contract:
# - All functions are element-wise with broadcasting, in f64. A result of f32 is
#   rounded to f32; integers count as real; complex arguments are an error.
# - A function is NaN outside its domain, and infinite or NaN at a pole.
# - Derivative rules use functions of this file, so derivatives exist in every
#   mode and of every order.
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

# ---- error function family

# erfc(x): 1 - erf(x), without cancellation: accurate until it underflows near x
# = 26.5
#     erfc(10)                    #~ 2.088487583762545e-45 tol 1e-58
erfc(x) = _each("erfc", x)
derivative erfc(x) = -1.1283791670955126 * exp(-x * x)
# Upper tail of the standard normal distribution, erfc(z/sqrt(2))/2.
_normal_tail(z) = _each("normal_tail", z)
derivative _normal_tail(z) = -0.3989422804014327 * exp(-0.5 * z * z)
# erfcx(x): exp(x^2) erfc(x), which neither underflows nor overflows for x >
# -26.
#   [DLMF 7.2; continued fraction 7.9.2 for x > 8]
#     erfcx(100)                  #~ 0.005641613782989433
erfcx(x) = _each("erfcx", x)
derivative erfcx(x) = -2 * _erfcx_integral(1, x)
# exp(x^2) times the n-th repeated integral of erfc from x to infinity.
_erfcx_integral(n, x) = _each("erfcx_integral", n, x)
derivative _erfcx_integral(n, x), dn, dx = -2 * (n + 1) * _erfcx_integral(n + 1, x) * dx
# erfinv(y): x with erf(x) = y, -1 <= y <= 1.
#   Newton's method on erf and erfc. Derivative: sqrt(pi)/2 exp(x^2).
#     erfinv(erf(0.3))            #~ 0.3
erfinv(x) = _each("erfinv", x)
derivative erfinv(x) = 0.886226925452758 * exp(y * y)
# erfcinv(y): x with erfc(x) = y, 0 <= y <= 2
#     erfcinv(1e-100)             #~ 15.065574702592645
erfcinv(x) = _each("erfcinv", x)
derivative erfcinv(x) = -0.886226925452758 * exp(y * y)
# dawson(x): Dawson's integral, exp(-x^2) times the integral of exp(t^2) from 0
# to x
#     dawson(1)                   #~ 0.5380795069127684
dawson(x) = _each("dawson", x)
derivative dawson(x) = _dawson_slope(1, x)
_dawson_slope(n, x) = _each("dawson_slope", n, x)
derivative _dawson_slope(n, x), dn, dx = _dawson_slope(n + 1, x) * dx
# fresnels(x), fresnelc(x): Fresnel integrals of sin(pi t^2/2) and cos(pi t^2/2)
# from 0 to x.
#   [DLMF 7.2(iii); series, and a continued fraction from 1.5 on]
#     fresnels(1)                 #~ 0.4382591473903548
fresnels(x) = _each("fresnels", x)
derivative fresnels(x) = _sin_half_square(x)
# fresnelc(x): see fresnels
#     fresnelc(1)                 #~ 0.7798934003768228
fresnelc(x) = _each("fresnelc", x)
derivative fresnelc(x) = _cos_half_square(x)
_sin_half_square(x) = sin(1.5707963267948966 * (x * x))
_cos_half_square(x) = cos(1.5707963267948966 * (x * x))
# expint(x; n): the exponential integral E_n(x), integral of exp(-x t) / t^n
# from 1 to infinity; by default n = 1.
#   x > 0; for n = 1 also x < 0, the principal value. No derivative with respect
#   to n. [DLMF 6.2.1, 8.19]
#     expint(1)                   #~ 0.21938393439552029
#     expint(1; n = 2)            #~ 0.14849550677592205
expint(x; n = 1) = _expint(n, x)
_expint(n, x) = _each("expint", n, x)
derivative _expint(n, x), dn, dx = {
  _fixed("expint", "order", "n", dn)
  where(n == 1, -exp(-x) / x, -_expint(where(n == 1, 2, n) - 1, abs(x))) * dx
}
# expinti(x): the exponential integral Ei(x), principal value of the integral of
# exp(t)/t from -infinity to x
#     expinti(1)                  #~ 1.8951178163559368
expinti(x) = _each("expinti", x)
derivative expinti(x) = exp(x) / x
# sinint(x): the sine integral Si(x), of sin(t)/t from 0 to x
#     sinint(1)                   #~ 0.9460830703671830
sinint(x) = _each("sinint", x)
derivative sinint(x) = sphericalj(0, x)
# cosint(x): the cosine integral Ci(x), x > 0
#     cosint(1)                   #~ 0.3374039229009681
cosint(x) = _each("cosint", x)
derivative cosint(x) = cos(x) / x
# sinhint(x), coshint(x): the hyperbolic sine and cosine integrals; coshint for
# x > 0
#     sinhint(1)                  #~ 1.0572508753757286
sinhint(x) = _each("sinhint", x)
derivative sinhint(x) = sphericali(0, x)
# coshint(x): see sinhint
#     coshint(1)                  #~ 0.8378669409802082
coshint(x) = _each("coshint", x)
derivative coshint(x) = cosh(x) / x
# sinc(x): sin(pi x) / (pi x), and 1 at 0; all derivatives are also valid at 0
#     sinc([0, 0.5, 1])           #~ [1, 2/pi, 0]
sinc(x) = _each("sinc", x)
derivative sinc(x) = -3.141592653589793 * sphericalj(1, 3.141592653589793 * x)

# ---- Bessel functions

# besselj(n, x), bessely(n, x): Bessel functions of the first and second kind,
# of order n.
#   n is any real scalar. x >= 0; besselj with integer n accepts any real x.
#   Derivatives with respect to x, and with respect to n for x > 0 (for besselj
#   with n > 0 also at 0). Those with respect to n differentiate Schlaefli's
#   integrals. [DLMF 10.2, 10.9.6, 10.9.7; Temme 1975, Barnett 1981; GSL for
#   integer orders]
#     besselj([0, 1, 0.5], 2.0)   #~ [0.22389077914123566, 0.5767248077568734, sin(2) / sqrt(pi)]
besselj(n, x) = _each("besselj", n, x)
derivative besselj(n, x), dn, dx = 0.5 * (besselj(n - 1, x) - besselj(n + 1, x)) * dx +
  _by_order_from_0(_besselj_integral, n, x, y, dn)
# bessely(n, x): see besselj
#     bessely(0, 2)               #~ 0.5103756726497451
bessely(n, x) = _each("bessely", n, x)
derivative bessely(n, x), dn, dx = 0.5 * (bessely(n - 1, x) - bessely(n + 1, x)) * dx +
  _by_order(_bessely_integral, n, x, y, dn)
# besseli(n, x; scaled): modified Bessel function of the first kind; scaled =
# true: times exp(-|x|).
#   n is any real scalar. x >= 0, with integer n any real x. Derivatives with
#   respect to x, and with respect to n for x > 0, for n > 0 also at 0. [DLMF
#   10.25, 10.32.4; Temme 1975]
#     besseli(0, 2)               #~ 2.2795853023360673
#     besseli(0, 1000; scaled = true)   #~ 0.01261724045589125
besseli(n, x; scaled = false) = if scaled { _besseli_scaled(n, x) } else { _besseli(n, x) }
_besseli(n, x) = _each("besseli", n, x)
derivative _besseli(n, x), dn, dx = 0.5 * (_besseli(n - 1, x) + _besseli(n + 1, x)) * dx +
  _by_order_from_0((n, x) -> exp(x) * _besseli_integral(n, x), n, x, y, dn)
_besseli_scaled(n, x) = _each("besseli_scaled", n, x)
derivative _besseli_scaled(n, x), dn, dx = {
  near = (0.5 * (_besseli_scaled(n - 1, x) + _besseli_scaled(n + 1, x)) - sign(x) * y) * dx +
    _by_order_from_0(_besseli_integral, n, x, y, dn)
  # I_n(-x) = (-1)^n I_n(x)
  even = sign(x) * where(x < 0, 1 - 2 * (n % 2), 1.0)
  _or_far(-1.0, n, x, y, near, even, dn, dx)
}
# besselk(n, x; scaled): modified Bessel function of the second kind, x >= 0;
# scaled = true: times exp(x).
#   Derivatives with respect to x, and with respect to n for x > 0. [DLMF 10.25,
#   10.32.9; Temme 1975]
#     besselk(0, 2)               #~ 0.11389387274953344
besselk(n, x; scaled = false) = if scaled { _besselk_scaled(n, x) } else { _besselk(n, x) }
_besselk(n, x) = _each("besselk", n, x)
derivative _besselk(n, x), dn, dx = -0.5 * (_besselk(n - 1, x) + _besselk(n + 1, x)) * dx +
  _by_order((n, x) -> exp(-x) * _besselk_integral(n, x), n, x, y, dn)
_besselk_scaled(n, x) = _each("besselk_scaled", n, x)
derivative _besselk_scaled(n, x), dn, dx = {
  near = (y - 0.5 * (_besselk_scaled(n - 1, x) + _besselk_scaled(n + 1, x))) * dx +
    _by_order(_besselk_integral, n, x, y, dn)
  _or_far(1.0, n, x, y, near, 1.0, dn, dx)
}
# For large x neighbouring orders are nearly equal. Derivatives then come from
# the expansion in 1/x, differentiated term by term: of the scaled I for sign =
# -1, of K for 1. [DLMF 10.40.1, 10.40.2]
_or_far(sign, n, x, y, near, factor, dn, dx) = {
  # derivatives with respect to n exist for x > 0 only
  far = (if _absent(dn) { abs(x) } else { x }) > 30 + n^2 / 8 and abs(x) < inf
  if not any(ravel(far)) { near } else {
    like = 0.0 * y
    at = where(far, abs(x) + like, 30.0)
    order = where(far, n + like, 0.0)
    slope =
      jvp(p -> _scaled_far(sign, p[0], p[1]), (order, at),
        ((if _absent(dn) { like } else { dn + like }), factor * dx + like))[1]
    where(far, slope, near)
  }
}
_scaled_far(sign, n, x) = {
  term = (if sign < 0 { 0.3989422804014327 } else { 1.2533141373155003 }) / sqrt(x)
  total = term
  for j in 1..40 {
    term = term * sign * (4 * n^2 - (2 * j - 1)^2) / (8 * j * x)
    total = total + term
  }
  total
}

# ---- Bessel functions as integrals, differentiable with respect to the order
# Each function is (1/2 pi i) times the integral of exp(x sinh z - n z), for I
# of exp(x cosh z - n z), from infinity - i pi to infinity + i pi. The path
# follows the rays to a +- i pi and a vertical segment between them (Schlaefli's
# path has a = 0). It passes through the saddle point, x cosh a = n or x sinh a
# = n. There the integrand is as large as the result, so orders much larger than
# x lose no digits. The path does not depend on the order, so the saddle is held
# fixed. The truncated part is below exp(-46) of the rest.

_by_order(f, n, x, y, dn) = if _absent(dn) { 0.0 } else {
  inside = 0 < x and x < inf and abs(n) < inf and y == y
  at = where(inside, x + 0.0 * y, 1.0)
  where(inside, 1.0, nan) * jvp(n -> f(n, at + 0 * n), where(inside, n + 0.0 * y, 1.0),
    dn + 0.0 * y)[1]
}
# For functions that behave as (x/2)^n at x = 0. There all derivatives with
# respect to the order are those of x^n log(x), or infinite as these are.
_by_order_from_0(f, n, x, y, dn) = if _absent(dn) { 0.0 } else {
  begins = x == 0 and n > 0
  where(begins, _power_log(where(begins, n, 1.0), x) * dn, _by_order(f, n, x, y, dn))
}
# The integral of f from a to b by the 20-point Gauss-Legendre rule in panels.
# Their number follows from `change`, the variation of the exponent from a to b.
# [DLMF 3.5(v)]
_over_panels(f, a, b, change) = {
  panels = i64(4 + ceil(max(change) / 12))
  total = 0.0 * a
  for j in 0..(20 * panels) {
    k = j % 10
    side = if j % 20 < 10 { 1.0 } else { -1.0 }
    s = (j // 20 + 0.5 + 0.5 * side * _bessel_nodes[k]) / panels
    total = total + _bessel_weights[k] * f(a + (b - a) * s)
  }
  0.5 / panels * (b - a) * total
}
_bessel_nodes = [0.076526521133497334, 0.22778585114164508, 0.37370608871541956, 0.5108670019508271,
  0.63605368072651503, 0.74633190646015079, 0.83911697182221882, 0.91223442825132591,
  0.96397192727791379, 0.99312859918509492]
_bessel_weights = [0.15275338713072585, 0.14917298647260375, 0.14209610931838205,
  0.13168863844917663, 0.11819453196151842, 0.10193011981724044, 0.083276741576704749,
  0.062672048334109064, 0.040601429800386941, 0.017614007139152118]
# The angle up to which exp(height (cos - 1)) is not negligible.
_angle_that_counts(height) = where(height < 23.5, pi, acos(max(1 - 46 / max(height, 1.0), -1.0)))
_ray_that_counts(x, n) = {
  t = asinh(46 / x)
  for k in 0..8 { t = asinh((46 + n * t) / x) }
  t
}
_besselj_integral(n, x) = {
  m = where(n < 0, -n, n)
  j = _besselj_right(m, x)
  if all(n >= 0) {
    j
  } else {
    where(n < 0, cos(pi * m) * j - sin(pi * m) * _bessely_right(m, x), j)
  }
}
_besselj_right(n, x) = {
  m = stop_gradient(n)
  a = acosh(max(m / stop_gradient(x), 1.0))
  height = x * sinh(a)
  b = _angle_that_counts(stop_gradient(height))
  up = _over_panels(v -> exp(height * cos(v) - n * a) * cos(x * cosh(a) * sin(v) - n * v), 0.0 * a,
    b, (stop_gradient(x) * cosh(a) + m) * b + 46)
  c = a + _ray_that_counts(stop_gradient(x), m)
  ray = _over_panels(t -> exp(-x * sinh(t) - n * t), a, c, (c - a) * (m + 24) + 92)
  (up - sin(pi * n) * ray) / pi
}
_bessely_integral(n, x) = {
  m = where(n < 0, -n, n)
  y = _bessely_right(m, x)
  if all(n >= 0) {
    y
  } else {
    where(n < 0, sin(pi * m) * _besselj_right(m, x) + cos(pi * m) * y, y)
  }
}
_bessely_right(n, x) = {
  m = stop_gradient(n)
  up =
    _over_panels(v -> sin(x * sin(v) - n * v), 0.0 * m, pi + 0.0 * m, (stop_gradient(x) + m) * pi)
  c = _ray_that_counts(stop_gradient(x), m)
  ray = _over_panels(t -> exp(n * t - x * sinh(t)) + cos(pi * n) * exp(-n * t - x * sinh(t)),
    0.0 * m, c, c * (m + 24) + 92)
  (up - ray) / pi
}
# Scaled by exp(-x) and exp(x).
_besseli_integral(n, x) = {
  m = where(n < 0, -n, n)
  i = _besseli_right(m, x)
  if all(n >= 0) {
    i
  } else {
    where(n < 0, i + 2 / pi * sin(pi * m) * exp(-2 * x) * _besselk_integral(m, x), i)
  }
}
_besseli_right(n, x) = {
  m = stop_gradient(n)
  a = asinh(m / stop_gradient(x))
  height = x * cosh(a)
  b = _angle_that_counts(stop_gradient(height))
  up = _over_panels(v -> exp(height * cos(v) - n * a - x) * cos(x * sinh(a) * sin(v) - n * v),
    0.0 * a, b, (stop_gradient(x) * sinh(a) + m) * b + 46)
  c = a + _ray_that_counts(stop_gradient(x), m)
  ray = _over_panels(t -> exp(-x * (cosh(t) + 1) - n * t), a, c, (c - a) * (m + 24) + 92)
  (up - sin(pi * n) * ray) / pi
}
_besselk_integral(n, x) = {
  m = abs(stop_gradient(n))
  c = acosh(1 + 46 / stop_gradient(x))
  for k in 0..8 { c = acosh(1 + (46 + m * c) / stop_gradient(x)) }
  _over_panels(t -> 0.5 *
    (exp(n * t - 2 * x * sinh(0.5 * t)^2) + exp(-n * t - 2 * x * sinh(0.5 * t)^2)), 0.0 * m, c,
    c * (m + 24) + 92)
}

# sphericalj(l, x), sphericaly(l, x): spherical Bessel functions of integer
# order l >= 0.
#   x is any real scalar. Derivative: (l j_{l-1} - (l+1) j_{l+1}) / (2l + 1),
#   without division by x. [DLMF 10.47, 10.51]
#     sphericalj([0, 1], 2.0)     #~ [sin(2) / 2, sin(2) / 4 - cos(2) / 2]
sphericalj(l, x) = _each("sphericalj", l, x)
derivative sphericalj(l, x), dl, dx = {
  _fixed("sphericalj", "order", "l", dl)
  (where(l == 0, 0.0, l * sphericalj(max(l - 1, 0), x)) - (l + 1) * sphericalj(l + 1, x)) /
    (2 * l + 1) * dx
}
# sphericaly(l, x): see sphericalj
#     sphericaly(0, 2)            #~ -cos(2) / 2
sphericaly(l, x) = _each("sphericaly", l, x)
derivative sphericaly(l, x), dl, dx = {
  _fixed("sphericaly", "order", "l", dl)
  (where(l == 0, 0.0, l * sphericaly(max(l - 1, 0), x)) - (l + 1) * sphericaly(l + 1, x)) /
    (2 * l + 1) * dx
}
# sphericali(l, x), sphericalk(l, x): modified spherical Bessel functions
# sqrt(pi/(2x)) I_{l+1/2}(x) and sqrt(pi/(2x)) K_{l+1/2}(x).
#   l is an integer >= 0; x > 0 for sphericalk. [DLMF 10.47(ii)]
#     sphericali(0, 2)            #~ sinh(2) / 2
sphericali(l, x) = _each("sphericali", l, x)
derivative sphericali(l, x), dl, dx = {
  _fixed("sphericali", "order", "l", dl)
  (where(l == 0, 0.0, l * sphericali(max(l - 1, 0), x)) + (l + 1) * sphericali(l + 1, x)) /
    (2 * l + 1) * dx
}
# sphericalk(l, x): see sphericali
#     sphericalk(0, 2)            #~ pi/4 * exp(-2)
sphericalk(l, x) = _each("sphericalk", l, x)
derivative sphericalk(l, x), dl, dx = {
  _fixed("sphericalk", "order", "l", dl)
  -(where(l == 0, 0.0, l * sphericalk(max(l - 1, 0), x)) + (l + 1) * sphericalk(l + 1, x)) /
    (2 * l + 1) * dx
}
# airyai(x), airybi(x): the Airy functions Ai and Bi, solutions of y'' = x y
#     airyai(1)                   #~ 0.13529241631288141
#     nth_derivative(airyai, 1.0, 2)   #~ airyai(1)
airyai(x) = _each("airyai", x)
derivative airyai(x) = airyaiprime(x)
# airybi(x): see airyai
#     airybi(1)                   #~ 1.2074235949528713
airybi(x) = _each("airybi", x)
derivative airybi(x) = airybiprime(x)
# airyaiprime(x), airybiprime(x): derivatives of airyai and airybi
#     airyaiprime(0)              #~ -0.2588194037928068
airyaiprime(x) = _each("airyaiprime", x)
derivative airyaiprime(x) = x * airyai(x)
# airybiprime(x): see airyaiprime
#     airybiprime(0)              #~ 0.4482883573538264
airybiprime(x) = _each("airybiprime", x)
derivative airybiprime(x) = x * airybi(x)

# ---- elliptic integrals and functions, by the parameter m = k^2

# ellipk(m), ellipe(m): complete elliptic integrals of the first and second
# kind.
#   The parameter m = k^2 <= 1 may be negative. [DLMF 19.2, 19.25; GSL]
#     ellipk(0.5)                 #~ 1.8540746773013719
#     ellipe(0.5)                 #~ 1.3506438810476755
ellipk(m) = _each("ellipk", m)
derivative ellipk(m) = 0.39269908169872414 * hyp2f1(1.5, 1.5, 2, m)
# ellipe(m): see ellipk
#     ellipe(0)                   #~ pi / 2
ellipe(m) = _each("ellipe", m)
derivative ellipe(m) = -0.39269908169872414 * hyp2f1(0.5, 1.5, 2, m)
# ellipf(phi, m): incomplete elliptic integral of the first kind, integral of 1
# / sqrt(1 - m sin(t)^2) from 0 to phi.
#   m sin(phi)^2 <= 1. Derivatives with respect to phi and m. [DLMF 19.2.4; GSL]
#     ellipf(pi/2, 0.5)           #~ ellipk(0.5)
ellipf(phi, m) = _each("ellipf", phi, m)
derivative ellipf(phi, m) = (1 / _delta(phi, m), 0.5 * _elliptic_slope(0, 1, 0, phi, m))
# ellipeinc(phi, m): incomplete elliptic integral of the second kind, integral
# of sqrt(1 - m sin(t)^2) from 0 to phi
#     ellipeinc(pi/2, 0.5)        #~ ellipe(0.5)
ellipeinc(phi, m) = _each("ellipeinc", phi, m)
derivative ellipeinc(phi, m) = (_delta(phi, m), -0.5 * _ellipd(phi, m))
# ellippi(n, m): complete elliptic integral of the third kind, n < 1, m < 1.
#   With characteristic n: integral of 1 / ((1 - n sin(t)^2) sqrt(1 - m
#   sin(t)^2)). Derivatives with respect to n and m. [DLMF 19.2.7; GSL]
#     ellippi(0.2, 0.5)           #~ 2.092956582731876
ellippi(n, m) = _each("ellippi", n, m)
derivative ellippi(n, m) =
  (_elliptic_slope(1, 0, n, 1.5707963267948966, m),
    0.5 * _elliptic_slope(0, 1, n, 1.5707963267948966, m))
# ellippiinc(n, phi, m): incomplete elliptic integral of the third kind
#     ellippiinc(0.2, pi/2, 0.5)  #~ ellippi(0.2, 0.5)
ellippiinc(n, phi, m) = _each("ellippiinc", n, phi, m)
derivative ellippiinc(n, phi, m) = (
  _elliptic_slope(1, 0, n, phi, m), 1 / ((1 - n * sin(phi)^2) * _delta(phi, m)),
  0.5 * _elliptic_slope(0, 1, n, phi, m))
# ellippiinc differentiated k times with respect to n and j times with respect
# to m, up to a factor: the integral of sin^(2k + 2j) (1 - n sin^2)^(-1 - k)
# delta^(-2j - 1), which has no cancellation.
_elliptic_slope(k, j, n, phi, m) = _each("elliptic_slope", k, j, n, phi, m)
derivative _elliptic_slope(k, j, n, phi, m), dk, dj, dn, dphi, dm =
  (if _absent(dn) { 0.0 } else { (k + 1) * _elliptic_slope(k + 1, j, n, phi, m) * dn }) +
  (if _absent(dphi) { 0.0 } else {
    sin(phi)^(2 * (k + j)) / ((1 - n * sin(phi)^2)^(k + 1) * _delta(phi, m)^(2 * j + 1)) * dphi
  }) +
  (if _absent(dm) { 0.0 } else { (j + 0.5) * _elliptic_slope(k, j + 1, n, phi, m) * dm })
_delta(phi, m) = sqrt(cos(phi)^2 + (1 - m) * sin(phi)^2)
derivative _delta(phi, m) = (-0.5 * m * sin(2 * phi) / y, -0.5 * sin(phi)^2 / y)
# (F - E)/m.
_ellipd(phi, m) = _each("ellipd", phi, m)
derivative _ellipd(phi, m) = (sin(phi)^2 / _delta(phi, m), 0.5 * _elliptic_slope(1, 1, 0, phi, m))
# jacobiam(u, m): the Jacobi amplitude: ellipf(jacobiam(u, m), m) = u, m <= 1.
#   Computed by the arithmetic-geometric mean. Derivatives with respect to u and
#   m. [DLMF 22.16, 22.20(ii)]
#     ellipf(jacobiam(0.7, 0.3), 0.3)   #~ 0.7
jacobiam(u, m) = _each("jacobiam", u, m)
derivative jacobiam(u, m) = (_delta(y, m), _amplitude_by_m(m, y))
_amplitude_by_m(m, am) = -0.5 * _delta(am, m) * _elliptic_slope(0, 1, 0, am, m)
# jacobisn(u, m), jacobicn(u, m), jacobidn(u, m): the Jacobi elliptic functions
#     jacobisn(ellipk(0.3), 0.3)  #~ 1
jacobisn(u, m) = sin(jacobiam(u, m))
# jacobicn(u, m): see jacobisn
#     jacobicn(0.7, 0)            #~ cos(0.7)
jacobicn(u, m) = _each("jacobicn", u, m)
derivative jacobicn(u, m) =
  (-jacobisn(u, m) * jacobidn(u, m), -jacobisn(u, m) * _amplitude_by_m(m, jacobiam(u, m)))
# jacobidn(u, m): see jacobisn
#     jacobidn(0.7, 1)            #~ sech(0.7)
jacobidn(u, m) = _delta(jacobiam(u, m), m)
# ellipj(u, m): (sn, cn, dn), all Jacobi elliptic functions
#     (s, c, d) = ellipj(0.7, 0.3)
#     s^2 + c^2                   #~ 1
ellipj(u, m) = {
  am = jacobiam(u, m)
  (sin(am), jacobicn(u, m), _delta(am, m))
}

# ---- hypergeometric functions

# hyp0f1(b, x), hyp1f1(a, b, x), hyp2f1(a, b, c, x): hypergeometric functions.
#   hyp2f1 for x <= 1. No derivatives with respect to parameters. Method:
#   series, expansions for large arguments, and the differential equation near
#   1; NaN where none of them is accurate. [DLMF 13, 15]
#     hyp1f1(1, 2, 3)             #~ (exp(3) - 1) / 3
#     hyp2f1(1, 1, 2, -3)         #~ log(4) / 3
hyp0f1(b, x) = _each("hyp0f1", b, x)
derivative hyp0f1(b, x), db, dx = {
  _fixed("hyp0f1", "parameter", "b", db)
  hyp0f1(b + 1, x) / b * dx
}
# hyp1f1(a, b, x): see hyp0f1
#     hyp1f1(2, 2, 0.5)           #~ exp(0.5)
hyp1f1(a, b, x) = _each("hyp1f1", a, b, x)
derivative hyp1f1(a, b, x), da, db, dx = {
  _fixed("hyp1f1", "parameter", "a", da)
  _fixed("hyp1f1", "parameter", "b", db)
  hyp1f1(a + 1, b + 1, x) * a / b * dx
}
# hypu(a, b, x): Tricomi's confluent hypergeometric function U, x > 0
#     hypu(1, 1, 2)               #~ exp(2) * expint(2)
hypu(a, b, x) = _each("hypu", a, b, x)
derivative hypu(a, b, x), da, db, dx = {
  _fixed("hypu", "parameter", "a", da)
  _fixed("hypu", "parameter", "b", db)
  -a * hypu(a + 1, b + 1, x) * dx
}
# hyp2f1(a, b, c, x): see hyp0f1
#     hyp2f1(1, 2, 2, 0.5)        #~ 2
hyp2f1(a, b, c, x) = _each("hyp2f1", a, b, c, x)
derivative hyp2f1(a, b, c, x), da, db, dc, dx = {
  _fixed("hyp2f1", "parameter", "a", da)
  _fixed("hyp2f1", "parameter", "b", db)
  _fixed("hyp2f1", "parameter", "c", dc)
  hyp2f1(a + 1, b + 1, c + 1, x) * a * b / c * dx
}

# ---- orthogonal polynomials; n is an integer, and for n < 0 they are 0

# legendre(n, x): Legendre polynomial P_n(x), any real x.
#   Computed by recurrence. Derivatives are Gegenbauer polynomials. [DLMF 18.9]
#     legendre([0, 1, 2, 3], 0.5) #> [1, 0.5, -0.125, -0.4375]
legendre(n, x) = _each("legendre", n, x)
derivative legendre(n, x), dn, dx = {
  _fixed("legendre", "degree", "n", dn)
  gegenbauer(n - 1, 1.5, x) * dx
}
# chebyshevt(n, x), chebyshevu(n, x): Chebyshev polynomials of the first and
# second kind
#     chebyshevt(5, cos(0.3))     #~ cos(1.5)
chebyshevt(n, x) = _each("chebyshevt", n, x)
derivative chebyshevt(n, x), dn, dx = {
  _fixed("chebyshevt", "degree", "n", dn)
  n * chebyshevu(n - 1, x) * dx
}
# chebyshevu(n, x): see chebyshevt
#     chebyshevu(4, cos(0.3))     #~ sin(1.5) / sin(0.3)
chebyshevu(n, x) = _each("chebyshevu", n, x)
derivative chebyshevu(n, x), dn, dx = {
  _fixed("chebyshevu", "degree", "n", dn)
  2 * gegenbauer(n - 1, 2, x) * dx
}
# hermite(n, x): Hermite polynomial H_n(x), with weight exp(-x^2)
#     hermite(3, 2)               #> 40.0
hermite(n, x) = _each("hermite", n, x)
derivative hermite(n, x), dn, dx = {
  _fixed("hermite", "degree", "n", dn)
  2 * n * hermite(n - 1, x) * dx
}
# laguerre(n, x; alpha): Laguerre polynomial L_n(x), with alpha the generalised
# one.
#   Derivatives with respect to x and alpha. [DLMF 18.9]
#     laguerre(2, 3)              #~ -1/2
laguerre(n, x; alpha = 0) = _laguerre(n, alpha, x)
_laguerre(n, alpha, x) = _each("laguerre", n, alpha, x)
derivative _laguerre(n, alpha, x), dn, dalpha, dx = {
  _fixed("laguerre", "degree", "n", dn)
  -_laguerre(n - 1, alpha + 1, x) * dx + (if _absent(dalpha) { 0.0 } else {
    jvp(a -> _by_recurrence(n, a + 0 * x,
      (k, p, q) -> ((2 * k - 1 + a - x) * p - (k - 1 + a) * q) / k), alpha + 0.0 * y,
      dalpha + 0.0 * y)[1]
  })
}
# gegenbauer(n, lambda, x): Gegenbauer (ultraspherical) polynomial.
#   Derivatives with respect to lambda and x. [DLMF 18.9]
#     gegenbauer(2, 1.5, 0.5)     #~ 0.375
gegenbauer(n, lambda, x) = _each("gegenbauer", n, lambda, x)
derivative gegenbauer(n, lambda, x), dn, dlambda, dx = {
  _fixed("gegenbauer", "degree", "n", dn)
  2 * lambda * gegenbauer(n - 1, lambda + 1, x) * dx + (if _absent(dlambda) { 0.0 } else {
    jvp(a -> _by_recurrence(n, a + 0 * x,
      (k, p, q) -> (2 * x * (k + a - 1) * p - (k - 2 + 2 * a) * q) / k), lambda + 0.0 * y,
      dlambda + 0.0 * y)[1]
  })
}
# jacobi(n, a, b, x): Jacobi polynomial P_n^(a,b)(x).
#   Derivatives with respect to a, b and x. [DLMF 18.9]
#     jacobi(2, 0, 0, 0.5)        #~ legendre(2, 0.5)
jacobi(n, a, b, x) = _each("jacobi", n, a, b, x)
derivative jacobi(n, a, b, x), dn, da, db, dx = {
  _fixed("jacobi", "degree", "n", dn)
  0.5 * (n + a + b + 1) * jacobi(n - 1, a + 1, b + 1, x) * dx +
    (if _absent(da) and _absent(db) { 0.0 } else {
      jvp(p -> _jacobi_sum(n, p[0], p[1], x), (a + 0.0 * y, b + 0.0 * y),
        ((if _absent(da) { 0.0 } else { da }) + 0.0 * y, (if _absent(db) { 0.0 } else { db }) +
          0.0 * y))[1]
    })
}
# p_n of the recurrence p_k = step(k, p_{k-1}, p_{k-2}), p_0 = 1, p_{-1} = 0, in
# steps that are differentiable with respect to a parameter. `like` has the
# result's shape.
_by_recurrence(n, like, step) = {
  q = 0.0 * like
  p = 1.0 + 0.0 * like
  for k in 1..(i64(max(n)) + 1) {
    r = where(k <= n, step(k, p, q), p)
    q = p
    p = r
  }
  where(n < 0, 0.0, p)
}
# The recurrence DLMF 18.9.2, which divides by k + a + b and 2k + a + b - 2. It
# starts after the zeros of these.
_jacobi_sum(n, a, b, x) = {
  sum_of_both = stop_gradient(a + b)
  zeros_end = where(sum_of_both < -1, min(ceil(-sum_of_both) + 1, 300), 0.0)
  q = 1.0 + 0.0 * (a + b + x)
  p = where(n < 1, q, a + 1 + (a + b + 2) * 0.5 * (x - 1))
  for k in 2..(i64(max(n)) + 1) {
    c = 2 * k + a + b
    begun = k > zeros_end or k > n
    r = ((c - 1) * (c * (c - 2) * x + a^2 - b^2) * p - 2 * (k + a - 1) * (k + b - 1) * c * q) /
      where(begun, 2 * k * (k + a + b) * (c - 2), 1.0)
    if any(ravel(not begun)) { r = where(begun, r, _jacobi_terms(k, a, b, x)) }
    q = p
    p = where(k <= n, r, p)
  }
  where(n < 0, 0.0, p)
}
# DLMF 18.5.8.
_jacobi_terms(n, a, b, x) = {
  total = 0.0 * (a + b + x)
  for s in 0..(n + 1) {
    term = 1.0 + 0.0 * (a + b + x)
    for i in 1..(n - s + 1) { term = term * (s + i + a) / i * 0.5 * (x + 1) }
    for i in 1..(s + 1) { term = term * (n - s + i + b) / i * 0.5 * (x - 1) }
    total = total + term
  }
  total
}
# assoclegendre(l, m, x): associated Legendre function P_l^m(x), |x| <= 1, with
# the Condon-Shortley phase (-1)^m.
#   l and m are integers; 0 for |m| > l. Derivative with respect to x. [DLMF
#   14.10]
#     assoclegendre(2, 1, 0.5)    #~ -1.5 * sqrt(0.75)
assoclegendre(l, m, x) = _each("assoclegendre", l, m, x)
derivative assoclegendre(l, m, x), dl, dm, dx = {
  _fixed("assoclegendre", "degree", "l", dl)
  _fixed("assoclegendre", "order", "m", dm)
  _assoclegendre_slope(l, m, x, y) * dx
}
# y is c w^(k/2) G, where w = 1 - x^2 and G is a Gegenbauer polynomial. The
# derivative of this form has no cancellation near the ends. If c overflows, the
# derivative is that of the recurrence. [DLMF 14.6.1, 18.9.19]
_assoclegendre_slope(l, m, x, y) = {
  large = abs(m) > 60 or (m < 0 and l - m > 160)
  n = where(large, 0, max(l, 0))
  k = min(where(large, 0, abs(m)), n)
  c = where(m < 0, gamma(n - k + 1) / gamma(n + k + 1), 1 - 2 * (k % 2)) * 2.0^k * gamma(k + 0.5) /
    sqrt(pi)
  w = (1 - x) * (1 + x)
  slope = c * ((2 * k + 1) * w^(0.5 * k) * gegenbauer(n - k - 1, k + 1.5, x) -
    where(k == 0, 0.0, k * x * w^(where(k == 0, 0.0, 0.5 * k - 1)) * gegenbauer(n - k, k + 0.5, x)))
  far = (l * x * y - where(l > 0, (l + m) * assoclegendre(max(l - 1, 0), m, x), 0.0)) /
    where(large, x^2 - 1, 1.0)
  where(abs(m) > l, 0.0, where(large, far, slope))
}
# spherical_harmonic(l, m, theta, phi): complex spherical harmonic Y_l^m at
# polar angle theta and azimuth phi.
#   Orthonormal over the sphere, with the phase (-1)^m. Derivatives with respect
#   to both angles, also at the poles. [DLMF 14.30]
#     abs(spherical_harmonic(1, 0, 0.0, 0.0))^2   #~ 3 / (4pi)
spherical_harmonic(l, m, theta, phi) = _spherical_part(l, m, theta) * exp(im * (m * phi))
_spherical_part(l, m, theta) = _each("spherical_part", l, m, theta)
derivative _spherical_part(l, m, theta), dl, dm, dtheta = {
  _fixed("spherical_harmonic", "degree", "l", dl)
  _fixed("spherical_harmonic", "order", "m", dm)
  0.5 * (sqrt(max((l - m) * (l + m + 1.0), 0)) * _spherical_part(l, m + 1, theta) -
    sqrt(max((l + m) * (l - m + 1.0), 0)) * _spherical_part(l, m - 1, theta)) * dtheta
}

# ---- other functions

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
# dilog(x): the dilogarithm Li_2(x), the sum of x^k / k^2; for x > 1 its real
# part.
#   Derivative: -log|1 - x| / x. [DLMF 25.12; GSL]
#     dilog(1)                    #~ pi^2 / 6
dilog(x) = _each("dilog", x)
derivative dilog(x) =
  where(abs(x) < 0.01, _dilog_slope(where(abs(x) < 0.01, x, 0.0)),
    -log(abs(1 - where(abs(x) < 0.01, 0.5, x))) / where(abs(x) < 0.01, 0.5, x))
# -log(1 - x)/x near 0.
_dilog_slope(x) = {
  total = 1/16 + 0 * x
  for k in 1..16 { total = 1 / (16 - k) + x * total }
  total
}
# clausen(x): the Clausen function, the sum of sin(k x) / k^2 over k = 1, 2, ...
#   x is any real scalar; the period is 2 pi. Derivative: -log|2 sin(x/2)|.
#   [DLMF 25.12.9; GSL]
#     clausen(pi/2)               #~ 0.915965594177219
clausen(x) = _each("clausen", x)
derivative clausen(x) = -log(abs(2 * sin(0.5 * x)))
# lambertw(x; lower): w with w exp(w) = x on the principal branch; lower = true:
# the branch below -1, for -1/e <= x < 0
#     lambertw(1)                 #~ 0.5671432904097838
#     lambertw(-0.1; lower = true)   #~ -3.577152063957297
lambertw(x; lower = false) = if lower { _lambertw_lower(x) } else { _lambertw(x) }
_lambertw(x) = _each("lambertw", x)
derivative _lambertw(x) = exp(-y) / (1 + y)
_lambertw_lower(x) = _each("lambertw_lower", x)
derivative _lambertw_lower(x) = exp(-y) / (1 + y)

# ---- integers

# gcd(a, b), lcm(a, b): greatest common divisor and least common multiple of
# integers.
#   Integer arrays that broadcast. The result is never negative; gcd(0, 0) is 0.
#   Euclid's algorithm, element by element.
#     gcd([12, 18, 0], 8)         #> [4, 2, 8]
gcd(a, b) = {
  _want_whole("gcd", a)
  _want_whole("gcd", b)
  x = abs(a + 0 * b)
  y = abs(b + 0 * a)
  while any(y != 0) {
    r = where(y == 0, 0, x % where(y == 0, 1, y))
    x = where(y == 0, x, y)
    y = r
  }
  x
}
# lcm(a, b): see gcd. A result that overflows the integer type is an error.
#     lcm(4, 6)                   #> 12
lcm(a, b) = {
  g = gcd(a, b)
  times = abs(a // where(g == 0, 1, g))
  y = abs(b + 0 * a)
  multiple = times * y
  assert(all(ravel(multiple // where(y == 0, 1, y) == where(y == 0, 0, times))),
    "lcm: the multiple is too large for {dtype(a)}")
  multiple
}
_want_whole(name, x) = assert(dtype(x) == "i64" or dtype(x) == "i32", "{name} takes integers")
# primes(n): the primes below n, ascending.
#   i64. The sieve of Eratosthenes over odd integers, with 8 bytes for each.
#     primes(20)                  #> [2, 3, 5, 7, 11, 13, 17, 19]
primes(n) = {
  half = max(n // 2, 0)
  composite = zeros(half) # of 2k + 1
  k = 1
  while 2 * k * (k + 1) < half {
    if composite[k] == 0 {
      composite[2 * k * (k + 1) + (2 * k + 1) * iota((half - 1 - 2 * k * (k + 1)) // (2 * k + 1) +
        1)] = 1.0
    }
    k += 1
  }
  odd = 2 * findall(composite == 0) + 1
  if n > 2 { concat([2], odd[1..]) } else { odd[..0] }
}
# isprime(n): whether each integer is prime.
#   Trial division up to the square root.
#     isprime([0, 1, 2, 9, 97])   #> [false, false, true, false, true]
isprime(n) = {
  _want_whole("isprime", n)
  prime = n == 2 or (n > 1 and n % 2 == 1)
  k = 3
  while any(prime and k * k <= n) {
    prime = prime and (n % k != 0 or n == k)
    k += 2
  }
  prime
}
# factorize(n): the prime factors of an integer n >= 1, ascending, with
# multiplicity
#     factorize(360)              #> [2, 2, 2, 3, 3, 5]
factorize(n) = {
  _want_whole("factorize", n)
  assert(n >= 1, "factorize takes an integer from 1 on")
  factors = iota(64) * 0
  count = 0
  k = 2
  while k * k <= n {
    if n % k == 0 {
      factors[count] = k
      count += 1
      n = n // k
    } else { k += if k == 2 { 1 } else { 2 } }
  }
  if n > 1 { factors[count] = n; count += 1 }
  factors[..count]
}
