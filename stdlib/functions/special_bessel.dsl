# special_bessel.dsl - Bessel functions, also modified and spherical, and Airy
# functions, with their derivatives.
#
# Values and contract: as in special_gamma.dsl. Rules with respect to the
# argument are recurrences of the order; those with respect to the order
# differentiate Schlaefli's integrals.

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

# ---- spherical Bessel functions

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

# ---- Airy functions

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
