# special_poles.dsl - the gamma function family near the poles of gamma(a) at a
# = 0, in forms that are differentiable there.
#
# Near a pole, rules in terms of gamma(a) and digamma(a) are differences of
# powers of 1/a, which lose digits. Here the pole 1/a is a separate term, and
# the rest is a smooth function of a.

# ∫ f(s) ds from 0 to 1 by the Gauss-Legendre rule with eight nodes, for f
# without a singularity within a distance of 2.
_gauss_mean(f) = {
  total = 0.0
  for (d, w) in list((0.0917173212478249, 0.18134189168918099),
    (0.26276620495816449, 0.15685332293894365), (0.39833323870681337, 0.11119051722668724),
    (0.48014492824876812, 0.05061426814518813)) {
    total = total + w * (f(0.5 - d) + f(0.5 + d))
  }
  total
}
# (exp(z) - 1)/z, with its derivatives also at 0.
_exp_slope(z) = {
  far = abs(z) > 1
  (near, away) = (where(far, 0.0, z), where(far, z, 1.0))
  total = 1.0 + 0.0 * z
  for k in 0..23 { total = 1 + near * total / (24 - k) }
  where(far, expm1(away) / away, total)
}

# ---- the beta function

# h with lbeta(a, b) = log(1/a + 1/b) - a b h: the sum of (-1)^k zeta(k)/k ((a +
# b)^k - a^k - b^k)/(a b) over k >= 2 (DLMF 5.7.3), for |a|, |b| <= 0.2.
_beta_bend(a, b) = {
  z = zeta(f64(2..46)) / f64(2..46)
  (total, power, pa, pb) = (0.0 * (a + b), 0.0 * (a + b), 1.0 + 0.0 * a, 1.0 + 0.0 * b)
  for k in 0..44 {
    power = (a + b) * power + pa + pb
    total = total + (if k % 2 == 0 { z[k] } else { -z[k] }) * power
    (pa, pb) = (pa * a, pb * b)
  }
  total
}
# Whether both are near their poles; whether p is near its pole and far below q.
_both_small(p, q) = max(abs(p), abs(q)) <= 0.2
_far_below(p, q) = abs(p) <= min(min(0.1 * q, 0.2), 1 / log1p(abs(q)))
# (log gamma(1 + p) + log gamma(q) - log gamma(p + q))/p, for p far below q.
_beta_tilt(p, q) = _gauss_mean(s -> digamma(1 + p * s) - digamma(q + p * s))
# The derivative of beta with respect to its first argument.
_beta_slope(a, b) = {
  near = stop_gradient(_both_small(a, b))
  below = stop_gradient(_far_below(a, b))
  above = stop_gradient(_far_below(b, a))
  apart = not near and (below or above)
  far = not near and not apart
  (an, bn) = (where(near, a, 0.1), where(near, b, 0.1))
  rest = a -> { h = _beta_bend(a, bn); -(a + bn) * h * _exp_slope(-a * bn * h) }
  one = ones_like(a + b)
  out = -1 / (where(far, 1.0, a) * where(far, 1.0, a)) * where(near or (apart and below), 1.0, 0.0)
  out = out + where(near, jvp(rest, an * one, one)[1], 0.0)
  (pa, pb) = (where(apart, a, 0.1), where(apart, b, 1.0))
  other = a -> {
    p = where(above, pb, a)
    m = _beta_tilt(p, where(above, a, pb))
    m * _exp_slope(p * m)
  }
  out = out + where(apart, jvp(other, pa * one, one)[1], 0.0)
  (fa, fb) = (where(far, a, 1.0), where(far, b, 1.0))
  out + where(far, -beta(fa, fb) * _polygamma_rise(0, fa, fb), 0.0)
}
# lbeta(p, q) + log(p), smooth at p = 0.
_lbeta_rest(p, q) = {
  near = stop_gradient(_both_small(p, q))
  apart = stop_gradient(not near and _far_below(p, q))
  far = not near and not apart
  (pn, qn) = (where(near, p, 0.1), where(near, q, 0.1))
  (pa, qa) = (where(apart, p, 0.1), where(apart, q, 1.0))
  (pf, qf) = (where(far, p, 1.0), where(far, q, 1.0))
  where(near, log1p(pn / qn) - pn * qn * _beta_bend(pn, qn),
    where(apart, pa * _beta_tilt(pa, qa), lbeta(pf, qf) + log(pf)))
}

# ---- the upper incomplete gamma function

# gamma_upper(a, x) for x > 0 and -0.2 <= a <= 0.25. For x < 1.5 it is (gamma(1
# + a) - x^a)/a minus the remainder of the series of the lower function (DLMF
# 8.7.1), otherwise the continued fraction (DLMF 8.9.2).
_gamma_upper_by_pole(a, x) = {
  left = x < 1.5
  (xs, xf) = (where(left, x, 1.0), where(left, 3.0, x))
  d = _gauss_mean(s -> digamma(1 + a * s)) - log(xs)
  (term, total) = (1.0 + 0.0 * xs, 0.0 * (a + xs))
  for k in 1..26 { term = -term * xs / k; total = total + term / (k + a) }
  where(left, exp(a * log(xs)) * (d * _exp_slope(a * d) - total),
    exp(a * log(xf) - xf) / _upper_fraction(a, xf, 60))
}
_is_near_pole(a, x) = where(x > 0, max(-0.2 - a, a - 0.25) <= 0, false)
_gamma_upper_slope(a, x) = {
  near = stop_gradient(_is_near_pole(a, x))
  one = ones_like(a + x)
  (an, xn) = (where(near, a, 0.1), where(near, x, 1.0))
  (af, xf) = (where(near, 1.0, a), where(near, 1.0, x))
  where(near, jvp(a -> _gamma_upper_by_pole(a, xn), an * one, one)[1],
    jvp(a -> gamma(a) * gammaincc(a, xf + 0 * a), af * one, one)[1])
}
