# special_integrals.dsl - integrals of elementary functions and their inverses:
# error functions, exponential and trigonometric integrals, elliptic integrals
# and functions, dilogarithm, Lambert W.
#
# Values and contract: as in special_gamma.dsl. The rule of an integral with
# respect to its end is the integrand, that of an inverse function a reciprocal.

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

# ---- exponential and trigonometric integrals

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

# ---- dilogarithm, Clausen function, Lambert W

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
