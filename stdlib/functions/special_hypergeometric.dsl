# special_hypergeometric.dsl - hypergeometric functions, and the orthogonal
# polynomials, which are finite hypergeometric series, with spherical harmonics.
#
# Values and contract: as in special_gamma.dsl. Rules with respect to the
# argument shift the parameters; those with respect to parameters of a
# polynomial differentiate its recurrence.

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

# ---- associated Legendre functions and spherical harmonics

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
