# calculus.dsl - the derivative of each element-wise primitive, one line each.
#
# In each line y is the result. Forward mode, reverse mode and Taylor mode of
# any order follow from these lines.
#
# Conventions:
# - abs'(0) = 0, and ties of max and min share the derivative equally.
# - log and sqrt follow IEEE arithmetic at the ends of their domains.

derivative abs(x) = sign(x)
derivative sqrt(x) = 0.5 / y
derivative cbrt(x) = 1 / (3 * y * y)
derivative exp(x) = y
derivative expm1(x) = exp(x)
derivative log(x) = 1 / x
derivative log1p(x) = 1 / (1 + x)
derivative sin(x) = cos(x)
derivative cos(x) = -sin(x)
derivative tan(x) = 1 + y * y
derivative asin(x) = 1 / sqrt(1 - x * x)
derivative acos(x) = -1 / sqrt(1 - x * x)
derivative atan(x) = 1 / (1 + x * x)
derivative sinh(x) = cosh(x)
derivative cosh(x) = sinh(x)
derivative tanh(x) = 1 - y * y
derivative erf(x) = 1.1283791670955126 * exp(-x * x)           # 2/sqrt(pi)
derivative div(a, b) = (1 / b, -y / b)
# x^0 has derivative 0, also where x^-1 is infinite, and 0^p is 0 for all p > 0.
derivative pow(x, p) = (p * x^(where(p == 0, where(x == 0, 1, p), p) - 1),
  where(x == 0, where(p == 0, log(x), where(y == 0, 0, y * log(x))), y * log(where(x == 0, 1, x))))
derivative atan2(a, b) = _slopes_of_angle(a, b)
derivative max(a, b) =
  (where(a > b, 1, where(a == b, 0.5, 0)), where(b > a, 1, where(a == b, 0.5, 0)))
derivative min(a, b) =
  (where(a < b, 1, where(a == b, 0.5, 0)), where(b < a, 1, where(a == b, 0.5, 0)))
derivative mod(a, b) = (1, -floor(a / b))
