# complex.dsl - inverse trigonometric and hyperbolic functions, log1p and expm1
# of complex arguments.
#
# The public functions (asin and its relatives) call these for complex
# arguments.
#
# Method: formulas in real and imaginary parts, in double precision, without
# overflow or cancellation. T. E. Hull, T. F. Fairgrieve and P. T. P. Tang, ACM
# Trans. Math. Softw. 23 (1997), for asin and acos. W. Kahan, Branch cuts for
# complex elementary functions (1987), for atanh.
#
# Contract: principal values with the branch cuts of DLMF 4.23 and 4.37. On a
# cut the sign of a zero part selects the side.

_complex_asin(z) = {
  (x, y) = _real_parts(z)
  (s, c, h) = _sine_inverted(abs(x), abs(y))
  _of_real_parts(z, _signed(x, s), _signed(y, h))
}
# 1/sqrt(1 - z^2), in factors that keep the sign of a zero part; z + 1 and 1 - z
# would lose it.
derivative _complex_asin(z) = 1 / (sqrt(-(z - 1)) * sqrt(z - (-1)))
_complex_acos(z) = {
  (x, y) = _real_parts(z)
  (s, c, h) = _sine_inverted(abs(x), abs(y))
  _of_real_parts(z, where(x < 0, π - c, c), -_signed(y, h))
}
derivative _complex_acos(z) = -1 / (sqrt(-(z - 1)) * sqrt(z - (-1)))
_complex_asinh(z) = { # i asin(-i z)
  (x, y) = _real_parts(z)
  (s, c, h) = _sine_inverted(abs(y), abs(x))
  _of_real_parts(z, _signed(x, h), _signed(y, s))
}
derivative _complex_asinh(z) = 1 / sqrt(1 + z * z)
# i acos(z) or -i acos(z), whichever is to the right of the imaginary axis
_complex_acosh(z) = {
  (x, y) = _real_parts(z)
  (s, c, h) = _sine_inverted(abs(x), abs(y))
  _of_real_parts(z, h, _signed(y, where(x < 0, π - c, c)))
}
derivative _complex_acosh(z) = 1 / (sqrt(z - 1) * sqrt(z - (-1)))
_complex_atanh(z) = {
  (x, y) = _real_parts(z)
  (u, v) = _tangent_inverted(x, y)
  _of_real_parts(z, u, v)
}
derivative _complex_atanh(z) = 1 / ((1 - z) * (1 + z))
_complex_atan(z) = { # -i atanh(i z)
  (x, y) = _real_parts(z)
  (u, v) = _tangent_inverted(y, x)
  _of_real_parts(z, v, u)
}
derivative _complex_atan(z) = 1 / (1 + z * z)
_complex_expm1(z) = {
  (x, y) = _real_parts(z)
  _of_real_parts(z, expm1(x) * cos(y) - 2 * sin(0.5 * y)^2, exp(x) * sin(y))
}
derivative _complex_expm1(z) = y + 1
_complex_log1p(z) = {
  (x, y) = _real_parts(z)
  # |1 + z|^2 - 1, with the rounding errors of its squares corrected, where it
  # is small.
  near = abs(x + 1) + abs(y) < 4 and abs(x + 1) + abs(y) > 0.25
  (u, v) = (where(near, x, 0.0), where(near, y, 0.0))
  (p, q) = (u * u, v * v)
  (big, rest) = _exact_sum(2 * u, where(p > q, p, q))
  (total, last) = _exact_sum(big, where(p > q, q, p))
  far = log(_hypotenuse(where(near, 1.0, x + 1), where(near, 0.0, y)))
  _of_real_parts(z,
    where(near, 0.5 * log1p(total + (last + rest + (_square_rest(u, p) + _square_rest(v, q)))),
      far), atan2(y, x + 1))
}
derivative _complex_log1p(z) = 1 / (1 + z)

_real_parts(z) = (f64(real(z)), f64(imag(z)))
_of_real_parts(z, x, y) = { w = x + 1im * y; if dtype(z) == "c64" { c64(w) } else { w } }
# v >= 0 with the sign of s, including the sign of a zero.
_signed(s, v) = where(s < 0 or (s == 0 and 1 / s < 0), -v, v)
_hypotenuse(x, y) = {
  (a, b) = (abs(x), abs(y))
  large = max(a, b)
  large * sqrt(1 + (min(a, b) / where(large == 0, 1.0, large))^2)
}
# a + b and its rounding error, in either order of magnitude.
_exact_sum(a, b) = { s = a + b; t = s - a; (s, (a - (s - t)) + (b - t)) }
# x^2 - p, where p is the rounded square (Dekker 1971).
_square_rest(x, p) = {
  t = 134217729 * x
  high = t - (t - x)
  low = x - high
  ((high * high - p) + 2 * high * low) + low * low
}
# (Re asin, Re acos, Im asin) of x + iy, for x and y >= 0.
_sine_inverted(x, y) = {
  r = _hypotenuse(x + 1, y)
  s = _hypotenuse(x - 1, y)
  a = 0.5 * (r + s) # cosh of the imaginary part
  b = x / a         # sin of the real part
  inside = x <= 1
  # a - 1 and sqrt(a^2 - 1). For x < 1 both have a factor y, because y^2 may
  # underflow.
  q = 0.5 * (1 / (r + (x + 1)) + 1 / (s + (1 - x)))
  less = where(x < 1, y * y * q, 0.5 * (y * y / (r + (x + 1)) + (s + (x - 1))))
  root = where(x < 1, y * sqrt(q * (a + 1)), sqrt(less * (a + 1)))
  h = where(a < 1.5, log1p(where(a < 1.5, less + root, 0.0)), acosh(where(a < 1.5, 2.0, a)))
  # x divided by the tangent of the real part
  t = where(inside, sqrt(0.5 * (a + x) * (y * y / (r + (x + 1)) + (s + (1 - x)))),
    y * sqrt(0.5 * ((a + x) / (r + (x + 1)) + (a + x) / (s + (x - 1)))))
  small = b <= 0.6417
  (where(small, asin(where(small, b, 0.0)), atan2(x, t)),
    where(small, acos(where(small, b, 0.0)), atan2(t, x)), h)
}
# (Re, Im) of atanh(x + iy).
_tangent_inverted(x, y) = {
  (a, b) = (abs(x), abs(y))
  m = max(max(a, b), 1.0)
  (_signed(x, 0.25 * log1p(4 * (a / m) / ((1 - a) * ((1 - a) / m) + b * (b / m)))),
    _signed(y, 0.5 * atan2(2 * (b / m), (1 - a) / m * (1 + a) - b * (b / m))))
}
