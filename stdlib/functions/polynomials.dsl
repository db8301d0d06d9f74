# polynomials.dsl - polynomials as coefficient vectors, Chebyshev series, and
# nodes and weights of Gaussian quadrature.
#
# Coefficients ascend: c[k] belongs to x^k, as in the result of taylor(f, x, n).
# polyroots(c) returns all zeros of a polynomial; root(f, x0) finds one zero of
# any function.

# polyval(c, x): value of the polynomial with coefficients c at x of any shape.
#   Horner's scheme. Derivatives with respect to c and x.
#     polyval([1, 2, 3], 2)       #> 17
polyval(c, x) = {
  # without coefficients 0
  y = zeros_like(x) +
    (if kind(c) == "array" { sum(c[max(len(c) - 1, 0)..]; axis = 0) } else { c[-1] })
  for k in 1..len(c) { y = y * x + c[len(c) - 1 - k] }
  y
}
# Evaluates a list of coefficients by Estrin's scheme: pairs, pairs of pairs,
# and so on. The dependency chain of n terms is log2(n) long instead of n, which
# matters in functions that are mapped over elements.
_estrin(c, x) = if len(c) == 1 { c[0] } else {
  n = len(c)
  _estrin(map(i -> if 2 * i + 1 < n { c[2 * i] + c[2 * i + 1] * x } else { c[2 * i] },
    each((n + 1) // 2)), x * x)
}
# polyder(c, m): coefficients of the m-th derivative
#     polyder([1, 2, 3])          #> [2, 6]
polyder(c, m = 1) = {
  _want_vector("polyder", c)
  assert(m >= 0, "polyder takes an order from 0 on")
  n = max(len(c) - m, 1)
  i = iota(n)
  factor = 1 + 0 * i
  for k in 0..m { factor = factor * (i + k + 1) }
  if len(c) > m { c[min(m, len(c) - 1) + i] * factor } else { 0 * c[..min(1, len(c))] }
}
# polyint(c; constant): coefficients of the antiderivative with value `constant`
# at 0
#     polyint([2.0, 6]; constant = 1)   #> [1, 2, 3]
polyint(c; constant = 0) = concat(constant + 0.0, c / (iota(len(c)) + 1))
# polyadd(a, b), polysub(a, b), polymul(a, b): sum, difference and product of
# polynomials
#     polyadd([1, 2, 3], [1, 1])  #> [2, 3, 3]
#     polymul([1, 1], [1, 1])     #> [1, 2, 1]
polyadd(a, b) = {
  _want_vector("polyadd", a)
  _want_vector("polyadd", b)
  _lengthened(a, len(b)) + _lengthened(b, len(a))
}
# polysub(a, b): see polyadd
#     polysub([1, 2], [1, 2, 3])  #> [0, 0, -3]
polysub(a, b) = {
  _want_vector("polysub", a)
  _want_vector("polysub", b)
  _lengthened(a, len(b)) - _lengthened(b, len(a))
}
# polymul(a, b): see polyadd
#     polymul([1, 2], [3, 4])     #> [3, 10, 8]
polymul(a, b) = convolve(a, b)
_lengthened(c, n) = concat(c, broadcast_to(sum(c[..0]), max(n - len(c), 0)))
# polydiv(a, b): (quotient, remainder) of polynomials: a = b quotient +
# remainder, where the remainder has a lower degree than b.
#   The last coefficient of b must not be 0.
#     polydiv([-1.0, 0, 0, 1], [-1.0, 1])   #> ([1, 1, 1], [0])
polydiv(a, b) = {
  _want_vector("polydiv", a)
  _want_vector("polydiv", b)
  assert(len(b) > 0, "polydiv: the divisor has no coefficients")
  assert(b[-1] != 0, "polydiv: the leading coefficient of the divisor is 0")
  m = len(b)
  if len(a) < m { (0.0 * a[..min(1, len(a))], a + 0.0 * b[0]) } else {
    n = len(a) - m + 1
    r = a + 0.0 * b[0]
    q = 0.0 * a[..n] * b[0]
    for k in 0..n {
      j = n - 1 - k
      f = r[j + m - 1] / b[m - 1]
      q[j] = f
      r[j + iota(m)] -= f * b
    }
    (q, r[..max(m - 1, 1)] * (if m > 1 { 1.0 } else { 0.0 }))
  }
}
# polyroots(c): the zeros of a polynomial, complex, as many as its degree.
#   They are the eigenvalues of the companion matrix. The leading coefficient
#   must not be 0. Derivatives of every order follow from the implicit function
#   theorem; they are NaN or infinite at multiple zeros.
#     sort(real(polyroots([6.0, -5, 1])))   #~ [2, 3]
polyroots(c) = {
  _want_vector("polyroots", c)
  assert(len(c) > 1, "polyroots: a constant has no zeros")
  assert(c[-1] != 0, "polyroots: the leading coefficient is 0")
  _polyroots(c + 0.0)
}
derivative _polyroots(c), dc = -polyval(dc, y) / polyval(polyder(c), y)
_polyroots(c) = {
  n = len(c) - 1
  C = 0.0 * c[0] + f64(expand(iota(n), 1) == expand(iota(n), 0) + 1)
  C[.., n - 1] -= c[..n] / c[n]
  eig(C)[0]
}
# polyfromroots(r): coefficients of the monic polynomial with these zeros
#     polyfromroots([2, 3])       #> [6, -5, 1]
polyfromroots(r) = {
  n = len(r)
  c = where(iota(n + 1) == 0, 1, 0) + 0 * sum(r)
  for k in 0..n {
    i = iota(n + 1)
    c = where(i > 0, c[max(i - 1, 0)], 0) - r[k] * c
  }
  c
}
# polyfit(x, y, n): coefficients of the polynomial of degree n that fits the
# points (x, y) by least squares.
#   x and y are vectors of the same extent, at least n + 1. Powers of x are
#   scaled by its largest element; the solution is by QR. Derivatives with
#   respect to x and y.
#     polyfit([0, 1, 2, 3], [1, 2, 5, 10], 2)   #~ [1, 0, 1]
polyfit(x, y, n) = {
  assert(len(x) == len(y), "polyfit takes as many x as y")
  assert(len(x) > n, "polyfit: {len(x)} points do not determine a polynomial of degree {n}")
  scale = stop_gradient(max(abs(x)))
  scale = where(scale == 0, 1.0, scale)
  t = x / scale
  V = _like(zeros(len(x), n + 1), t) + expand(0.0 * t, 1)
  power = 1.0 + 0 * t
  for k in 0..n + 1 {
    V[.., k] = power
    power = power * t
  }
  lstsq(V, y + 0.0) / scale^_like(1.0 * iota(n + 1), t)
}

# ---- Chebyshev series: records of coefficients c and the interval a .. b

# chebfit(f, n; domain): the Chebyshev series of degree n that interpolates f at
# the n + 1 Chebyshev points of the interval `domain`, as a record (c, a, b).
#   f takes a vector. For smooth f the error falls faster than any power of n.
#   [Trefethen, Approximation Theory and Approximation Practice, 2013, ch. 3]
#     s = chebfit(exp, 20)
#     chebval(s, 0.3)             #~ exp(0.3)
chebfit(f, n; domain = (-1.0, 1.0)) = {
  (a, b) = domain
  x = cos(π / n * iota(n + 1))
  c = dct(f(0.5 * (a + b) + 0.5 * (b - a) * x); type = 1) / n
  i = iota(n + 1)
  (c = where(i == 0 or i == n, 0.5 * c, c), a = a + 0.0, b = b + 0.0)
}
# chebval(s, x): value of a Chebyshev series at x of any shape.
#   Clenshaw's recurrence.
#     chebval((c = [0.0, 0, 1], a = -1.0, b = 1.0), 0.5)   #> -0.5
chebval(s, x) = {
  t = (2 * x - s.a - s.b) / (s.b - s.a)
  n = len(s.c)
  u = 0.0 * t
  v = 0.0 * t
  for k in 0..n - 1 {
    w = 2 * t * u - v + s.c[n - 1 - k]
    v = u
    u = w
  }
  t * u - v + s.c[0]
}
# chebder(s): the derivative of a Chebyshev series, as a Chebyshev series
#     chebval(chebder(chebfit(sin, 20)), 0.3)   #~ cos(0.3)
chebder(s) = {
  n = len(s.c)
  d = 0.0 * concat(s.c, s.c[..1])
  for j in 0..n - 1 {
    k = n - 1 - j
    d[k - 1] = d[k + 1] + 2 * k * s.c[k]
  }
  d[0] = 0.5 * d[0]
  (...s, c = d[..max(n - 1, 1)] * (2 / (s.b - s.a)))
}
# chebint(s): the antiderivative of a Chebyshev series that is 0 at the left end
# of its interval
#     chebval(chebint(chebfit(cos, 20)), 1)   #~ 2sin(1)
chebint(s) = {
  n = len(s.c)
  c = concat(2 * s.c[0], s.c[1..], [0.0, 0.0])
  k = iota(n) + 1
  d = concat(0.0, (c[k - 1] - c[k + 1]) / (2 * k)) * (0.5 * (s.b - s.a))
  start = chebval((...s, c = d), s.a)
  d[0] = -start
  (...s, c = d)
}

# ---- Gaussian quadrature

# gauss_legendre(n; a, b): (nodes, weights) of the Gauss-Legendre rule with n
# points between a and b, exact for polynomials of degree 2n - 1.
#   The nodes are eigenvalues of the Jacobi matrix (Golub and Welsch, Math.
#   Comp. 23, 1969), refined by one Newton step.
#     (x, w) = gauss_legendre(5)
#     sum(w * exp(x))             #~ 2sinh(1) tol 1e-9
gauss_legendre(n; a = -1.0, b = 1.0) = {
  k = iota(n - 1) + 1.0
  (x0, _) = _golub_welsch(zeros(n), k / sqrt(4 * k^2 - 1), 2.0)
  x = x0 - legendre(n, x0) / _legendre_slope(n, x0)
  w = 2 / ((1 - x^2) * _legendre_slope(n, x)^2)
  (0.5 * (a + b) + 0.5 * (b - a) * x, 0.5 * (b - a) * w)
}
_legendre_slope(n, x) = gegenbauer(n - 1, 1.5, x)
# gauss_hermite(n): (nodes, weights) of the Gauss-Hermite rule for integrals of
# exp(-x^2) f(x) over all real x
#     (x, w) = gauss_hermite(5)
#     sum(w * x^2)                #~ sqrt(pi) / 2
gauss_hermite(n) = _golub_welsch(zeros(n), sqrt(0.5 * (iota(n - 1) + 1)), sqrt(π))
# gauss_laguerre(n; alpha): (nodes, weights) of the Gauss-Laguerre rule for
# integrals of x^alpha exp(-x) f(x) from 0 to infinity
#     (x, w) = gauss_laguerre(4)
#     sum(w * x^5)                #~ 120
gauss_laguerre(n; alpha = 0.0) = {
  k = iota(n - 1) + 1.0
  _golub_welsch(2 * iota(n) + 1 + alpha, sqrt(k * (k + alpha)), gamma(alpha + 1))
}
# gauss_jacobi(n, a, b): (nodes, weights) of the Gauss-Jacobi rule for integrals
# of (1-x)^a (1+x)^b f(x) from -1 to 1
#     (x, w) = gauss_jacobi(4, 0.5, 0.5)
#     sum(w * x^2)                #~ pi / 8
gauss_jacobi(n, a, b) = {
  i = 1.0 * iota(n)
  s = 2 * i + a + b
  centre = where(i == 0, (b - a) / (a + b + 2), (b^2 - a^2) / where(i == 0, 1.0, s * (s + 2)))
  k = iota(n - 1) + 1.0
  t = 2 * k + a + b
  # for k = 1 the factor k + a + b cancels with one in t - 1
  side =
    sqrt(4 * k * (k + a) * (k + b) / (t^2 * (t + 1)) * where(k == 1, 1.0,
      (k + a + b) / where(k == 1, 1.0, t - 1)))
  _golub_welsch(centre, side, 2^(a + b + 1) * beta(a + 1, b + 1))
}
# gauss_chebyshev(n): (nodes, weights) of the Gauss-Chebyshev rule for integrals
# of f(x) / sqrt(1 - x^2) from -1 to 1
#     (x, w) = gauss_chebyshev(4)
#     sum(w * x^2)                #~ pi / 2
gauss_chebyshev(n) = (-cos(π * (2 * iota(n) + 1) / (2.0 * n)), 0.0 * iota(n) + π / n)
_golub_welsch(centre, side, total) = {
  n = len(centre)
  i = expand(iota(n), 1)
  j = expand(iota(n), 0)
  between = if n > 1 { side[clamp(min(i, j), 0, n - 2)] } else { 0.0 * (i + j) }
  (x, _) = eigh(where(i == j, centre[i + 0 * j], where(abs(i - j) == 1, between, 0.0)))
  # one Newton step for the last digits, which small nodes lack
  x = x - _christoffel(x, centre, side)[0]
  (x, total * _christoffel(x, centre, side)[1])
}
# (Newton step to the zero of p_n next to x, 1 / sum of p_k(x)^2 for k < n), for
# the orthonormal polynomials p_k. Large squares are summed in units of 2^300.
# Weights from eigenvectors would have no digits below 1e-16 of the largest.
# [Gautschi, Orthogonal Polynomials, 2004, 3.1]
_christoffel(x, centre, side) = {
  n = len(centre)
  p = 1.0 + 0.0 * x
  before = 0.0 * x
  total = p
  down = 1.0 + stop_gradient(0.0 * x)
  for k in 0..n {
    below = if k > 0 { side[max(k - 1, 0)] } else { 0.0 }
    above = if k < n - 1 { side[min(k, n - 2)] } else { 1.0 }
    next = ((x - centre[k]) * p - below * before) / above
    unit = where(stop_gradient(abs(next)) > 2.0^300, 2.0^-300, 1.0)
    before = p * unit
    p = next * unit
    total = total * unit^2 + where(k < n - 1, p^2, 0.0)
    down = down * unit^2
  }
  (p * before / total, down / total)
}
