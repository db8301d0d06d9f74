# stats.dsl - statistics of arrays: location, spread, shape, order, dependence,
# linear regression.
#
# Contract:
# - Without `axis` all elements are reduced. `axis` is one axis unless a comment
#   states otherwise. With `keepdims` a reduced axis remains, with extent 1.
# - A NaN among the elements makes the result NaN, except in functions whose
#   names begin with nan.
# - Integers are converted to f64, so that sums and squares do not overflow.
# - Derivatives are those of the formulas; for order statistics those of the
#   selected elements.

# ---- location

# mean(x; axis, keepdims = false): arithmetic mean; axis is a scalar or a tuple
#     mean([1, 2; 3, 4])            #> 2.5
#     mean([1, 2; 3, 4]; axis = 0)  #> [2, 3]
#     shape(mean([1, 2; 3, 4]; axis = 0, keepdims = true))    #> (1, 2)
mean(x; axis = none, keepdims = false) = {
  y = if kind(axis) == "none" { sum(x + 0.0) } else { sum(x + 0.0; axis = axis) }
  _keep_axes(y / _per_result(x, y), x, axis, keepdims)
}
# x in the precision of y: auxiliary values, such as indices and weights, must
# not convert f32 to f64.
_like(x, y) = if dtype(y) == "f32" or dtype(y) == "c64" {
  if dtype(x) == "f64" { f32(x) } else { x }
} else {
  x
}
# The number of elements in each of the sums y over axes of x. It is an integer,
# which preserves f32.
_per_result(x, y) = if rank(y) == 0 { size(x) } else { size(x) // max(size(y), 1) }
# y with the axes restored, with extent 1, along which x was reduced. y has
# `lead` additional leading axes.
_keep_axes(y, x, axis, keepdims; lead = 0) = if _known(keepdims, "keepdims") {
  z = y
  for k in each(rank(x)) {
    gone = kind(axis) == "none"
    if not gone {
      for a in (if kind(axis) == "tuple" or kind(axis) == "list" { axis } else { list(axis) }) {
        if _axis(x, a) == k { gone = true }
      }
    }
    if gone { z = expand(z, lead + k) }
  }
  z
} else { y }
# weighted_mean(x, w; axis, keepdims): sum(w x) / sum(w); with axis, w is a
# vector along it
#     weighted_mean([1, 2, 4], [1, 1, 2])       #> 2.75
weighted_mean(x, w; axis = none, keepdims = false) =
  _keep_axes(_mean_by_weight(x, w, axis), x, axis, keepdims)
_mean_by_weight(x, w, axis) =
  if kind(axis) == "none" { sum(w * (x + 0.0)) / sum(w + zeros_like(x + 0.0)) } else {
    y = moveaxis(x, axis, 0)
    v = w + 0.0
    for k in each(1, rank(y)) { v = expand(v, rank(v)) }
    sum(v * y; axis = 0) / sum(w + 0.0)
  }
# geometric_mean(x; axis, keepdims), harmonic_mean(x; axis, keepdims): exp of
# the mean of the logarithms; reciprocal of the mean of 1/x; for positive
# elements
#     geometric_mean([1.0, 4])      #~ 2
#     harmonic_mean([1.0, 3])       #~ 1.5
geometric_mean(x; axis = none, keepdims = false) =
  exp(mean(log(x); axis = axis, keepdims = keepdims))
harmonic_mean(x; axis = none, keepdims = false) = 1 / mean(1 / x; axis = axis, keepdims = keepdims)
# rms(x; axis, keepdims): root mean square
#     rms([3.0, 4, 5, 0])           #~ sqrt(12.5)
rms(x; axis = none, keepdims = false) = {
  y = x + 0.0
  s = _power_unit(y, axis)
  _keep_axes(_without_axes(s, axis) * sqrt(mean(abs(y / s)^2; axis = axis)), x, axis, keepdims)
}
# A power of two near the largest of the elements that are reduced together,
# with reduced axes of extent 1. In this unit squares neither overflow nor
# underflow, and scaling is exact.
_power_unit(x, axis) = {
  v = stop_gradient(abs(x + 0.0))
  r = if kind(axis) == "none" { sum(v) } else { sum(v; axis = axis, keepdims = true) }
  if size(x) == 0 { 0 * r + 1 } else {
    m = if kind(axis) == "none" { max(v) } else { max(v; axis = axis, keepdims = true) }
    _as_real_of(2.0, x)^floor(log2(_unit_of(m)))
  }
}
_without_axes(s, axis) = if kind(axis) == "none" { s } else { max(s; axis = axis) }
# median(x; axis, keepdims): the middle of the sorted elements; for an even
# number the mean of the two in the middle.
#   An empty x is an error.
#     median([3.0, 1, 2])           #> 2.0
#     median([1, 2; 5, 4]; axis = 0)      #> [3, 3]
median(x; axis = none, keepdims = false) = quantile(x, 0.5; axis = axis, keepdims = keepdims)
# quantile(x, q; axis, keepdims): the q-quantile, 0 <= q <= 1, with linear
# interpolation between neighbours: position q (n - 1) among the sorted
# elements.
#   q is a scalar or an array, whose axes then come first in the result. An
#   empty x, or q outside [0, 1], is an error. [Hyndman and Fan, Amer.
#   Statistician 50 (1996), definition 7]
#     quantile([1, 2, 3, 4, 5], [0.25, 0.9])    #~ [2, 4.6]
quantile(x, q; axis = none, keepdims = false) =
  _keep_axes(_quantile(x, q, axis), x, axis, keepdims; lead = rank(q))
_quantile(x, q, axis) = {
  y = sort(if kind(axis) == "none" { ravel(x) } else { moveaxis(x, axis, 0) }; axis = 0) + 0.0
  n = len(y)
  assert(n > 0, "a quantile of nothing")
  p = q + 0.0
  assert(all(ravel(p >= 0 and p <= 1)), "a quantile is asked for a part between 0 and 1")
  h = p * (n - 1)
  k = i64(floor(stop_gradient(h)))
  t = _like(h - k, y)
  for a in each(1, rank(y)) { t = expand(t, rank(t)) }
  (low, high) = (y[k], y[min(k + 1, n - 1)])
  # do not interpolate between infinite neighbours at t = 0, or when they are
  # equal
  infinite = (abs(low) == inf) or (abs(high) == inf)
  r = low + t * where(infinite and (t == 0 or low == high), 0, high - low)
  where(isnan(y[n - 1]), y[n - 1], r)
}
# percentile(x, p; axis, keepdims): quantile(x, p / 100)
#     percentile([1, 2, 3, 4, 5], 25)     #> 2.0
percentile(x, p; axis = none, keepdims = false) =
  quantile(x, p / 100.0; axis = axis, keepdims = keepdims)
# mode(x): the most frequent element; of several the smallest
#     mode([3, 1, 3, 2, 1])         #> 1
mode(x) = { (values, n) = unique(x; counts = true); values[argmax(n)] }

# ---- spread and shape

# var(x; axis, ddof = 0, keepdims): variance: the sum of squared distances from
# the mean, divided by n - ddof.
#   NaN when ddof >= n. For complex x the squared distances are real.
#     var([1, 2, 3, 4])             #> 1.25
#     var([1, 2, 3, 4]; ddof = 1)   #~ 5/3
var(x; axis = none, ddof = 0, keepdims = false) = {
  d = _squares(_centred(x, axis))
  y = if kind(axis) == "none" { sum(d) } else { sum(d; axis = axis) }
  _keep_axes(_over_freedom(y, _per_result(x, y), ddof), x, axis, keepdims)
}
_squares(x) = if _is_complex(x) { real(x * conj(x)) } else { x^2 }
# v / (n - ddof), NaN when n - ddof is not positive.
_over_freedom(v, n, ddof) = where(n > ddof, v, 0 * v) / max(n - ddof, 0)
# std(x; axis, ddof = 0, keepdims): standard deviation, the square root of var
#     std([1, 3])                   #> 1.0
std(x; axis = none, ddof = 0, keepdims = false) = {
  c = _centred(x, axis)
  s = _power_unit(c, axis)
  d = _squares(c / s)
  y = if kind(axis) == "none" { sum(d) } else { sum(d; axis = axis) }
  _keep_axes(_without_axes(s, axis) * sqrt(_over_freedom(y, _per_result(x, y), ddof)), x, axis,
    keepdims)
}
# ptp(x; axis, keepdims): largest minus smallest element
#     ptp([3, 9, 4])                #> 6
ptp(x; axis = none, keepdims = false) = _keep_axes(
  if kind(axis) == "none" {
    max(x) - min(x)
  } else {
    max(x; axis = axis) - min(x; axis = axis)
  }, x, axis, keepdims)
# iqr(x; axis, keepdims): interquartile range, quantile(x, 0.75) - quantile(x,
# 0.25)
#     iqr([1, 2, 3, 4, 5])          #> 2.0
iqr(x; axis = none, keepdims = false) =
  quantile(x, 0.75; axis = axis, keepdims = keepdims) -
  quantile(x, 0.25; axis = axis, keepdims = keepdims)
# moment(x, k; axis, keepdims): k-th central moment, the mean of (x - mean)^k
#     moment([1, 2, 3, 4], 2)       #> 1.25
moment(x, k; axis = none, keepdims = false) =
  mean(_centred(x, axis)^k; axis = axis, keepdims = keepdims)
_centred(x, axis) = x - mean(x; axis = axis, keepdims = kind(axis) != "none")
# skewness(x; axis, keepdims): third central moment divided by the 3/2-th power
# of the second; 0 for symmetric data
#     skewness([1, 2, 3])           #> 0.0
#     skewness([1.0, 1, 4])         #~ sqrt(0.5)
skewness(x; axis = none, keepdims = false) = {
  y = _in_own_unit(x, axis)
  moment(y, 3; axis = axis, keepdims = keepdims) / moment(y, 2; axis = axis,
    keepdims = keepdims)^1.5
}
# x centred and scaled, for scale-invariant results.
_in_own_unit(x, axis) = { c = _centred(x, axis); c / _power_unit(c, axis) }
# kurtosis(x; axis, keepdims): excess kurtosis, fourth central moment divided by
# the square of the second, minus 3; 0 for the normal distribution
#     kurtosis([1, 2, 3, 4, 5])     #~ -1.3
kurtosis(x; axis = none, keepdims = false) = {
  y = _in_own_unit(x, axis)
  moment(y, 4; axis = axis, keepdims = keepdims) / moment(y, 2; axis = axis,
    keepdims = keepdims)^2 - 3
}
# zscore(x; axis, ddof = 0): x minus its mean, divided by its standard deviation
#     zscore([1, 3])                #> [-1, 1]
zscore(x; axis = none, ddof = 0) =
  _centred(x, axis) / std(x; axis = axis, ddof = ddof, keepdims = kind(axis) != "none")

# ---- ignoring NaN

# nansum(x; axis, keepdims), nanmean(x; axis, keepdims), nanmax(x; axis,
# keepdims), nanmin(x; axis, keepdims): sum, mean, largest and smallest of the
# elements that are not NaN; without any: 0, NaN, -inf, inf
#     x = [1, nan, 3]
#     (nansum(x), nanmean(x), nanmax(x), nanmin(x))    #> (4.0, 2.0, 3.0, 1.0)
nansum(x; axis = none, keepdims = false) = {
  y = where(isnan(x), 0, x)
  _keep_axes(if kind(axis) == "none" { sum(y) } else { sum(y; axis = axis) }, x, axis, keepdims)
}
nanmean(x; axis = none, keepdims = false) =
  nansum(x + 0.0; axis = axis, keepdims = keepdims) / count(not isnan(x); axis = axis,
    keepdims = keepdims)
nanmax(x; axis = none, keepdims = false) = {
  y = where(isnan(x), -inf, x)
  _keep_axes(if kind(axis) == "none" { max(y) } else { max(y; axis = axis) }, x, axis, keepdims)
}
nanmin(x; axis = none, keepdims = false) = {
  y = where(isnan(x), inf, x)
  _keep_axes(if kind(axis) == "none" { min(y) } else { min(y; axis = axis) }, x, axis, keepdims)
}

# ---- dependence

# cov(x, y; ddof = 1): covariance of two vectors; cov(X): covariance matrix of
# the columns of X, whose rows are observations
#     cov([1, 2, 3], [2, 4, 7])     #> 2.5
#     cov([1, 2; 2, 4; 3, 7])       #~ [1, 2.5; 2.5, 19/3]
cov(x, y = none; ddof = 1) = if kind(y) == "none" {
  c = _centred(x, 0)
  _over_freedom(c' @ c, len(x), ddof)
} else {
  assert(len(x) == len(y), "the covariance of vectors of {len(x)} and {len(y)} elements")
  _over_freedom(sum(conj(x - mean(x)) * (y - mean(y))), len(x), ddof)
}
# corrcoef(x, y): Pearson correlation coefficient of two vectors; corrcoef(X):
# correlation matrix of the columns of X
#     corrcoef([1, 2, 3], [2, 4, 6])      #~ 1
#     corrcoef([1, 2; 2, 4; 3, 6])        #~ [1, 1; 1, 1]
corrcoef(x, y = none) = if kind(y) == "none" {
  c = cov(_in_own_unit(x, 0))
  s = sqrt(diag(c))
  c / outer(s, s)
} else {
  (u, v) = (_in_own_unit(x, none), _in_own_unit(y, none))
  cov(u, v) / sqrt(real(cov(u, u) * cov(v, v)))
}
# ranks(x): the ranks of the elements in sorted order, from 1; equal elements
# share the mean rank. f64, no derivative.
#     ranks([30, 10, 20, 10])       #> [4, 1.5, 3, 1.5]
ranks(x) = { s = sort(x); (searchsorted(s, x; side = "left") + searchsorted(s, x) + 1) / 2 }
# spearman(x, y): Spearman's rank correlation coefficient of two vectors
#     spearman([1, 2, 3], [1, 8, 27])     #~ 1
spearman(x, y) = corrcoef(ranks(x), ranks(y))
# autocorrelation(x, n): autocorrelation coefficients of a vector at lags 0 ..
# n-1
#     autocorrelation([1.0, 2, 1, 2], 2)  #~ [1, -0.75]
autocorrelation(x, n) = {
  c = _in_own_unit(x, none)
  m = len(c)
  padded = concat(c, zeros(n))
  (padded[expand(iota(n), 1) + iota(m)] @ conj(c)) / sum(_squares(c))
}
# linregress(x, y): the least-squares line slope * x + intercept through two
# vectors x and y. The result is a record: slope, intercept, r (correlation
# coefficient), stderr and intercept_stderr (standard errors, NaN for two
# points).
#     f = linregress([0, 1, 2, 3], [1, 3, 5, 7])
#     (f.slope, f.intercept)        #~ (2, 1)
linregress(x, y) = {
  n = len(x)
  assert(n > 1 and len(y) == n, "linregress takes two vectors of one length, 2 or more")
  (mx, my) = (mean(x), mean(y))
  # scaled to units of their own
  (p, q) = (_power_unit(x - mx, none), _power_unit(y - my, none))
  (u, v) = ((x - mx) / p, (y - my) / q)
  (sxx, syy, sxy) = (sum(_squares(u)), sum(_squares(v)), sum(conj(u) * v))
  slope = sxy / sxx * (q / p)
  intercept = my - slope * mx
  # by distances from the means, which keep full accuracy
  residue = sum(_squares(v - sxy / sxx * u))
  stderr = sqrt(_over_freedom(residue, n, 2) / sxx) * (q / p)
  (slope = slope, intercept = intercept, r = sxy / sqrt(sxx * syy), stderr = stderr,
    intercept_stderr = stderr * rms(x))
}
# linear_regression(X, y; intercept = true): least-squares fit of y f64[n] by a
# linear combination of the columns of X, and a constant. X is f64[n, k], or
# f64[n] for one column.
#   The result is a record: coefficients f64[k], intercept, residuals f64[n], r2
#   (the explained fraction of the variance of y), stderr (standard errors of
#   the coefficients, then of the intercept; NaN when there are at least as many
#   as rows).
#     X = [0.0, 1; 1, 0; 1, 1; 2, 1]
#     f = linear_regression(X, [4, 3, 6, 8])
#     f.coefficients                #~ [2, 3]
#     f.intercept                   #~ 1
linear_regression(X, y; intercept = true) =
  if rank(X) == 1 { _regression(expand(X, 1), y, intercept) } else { _regression(X, y, intercept) }
_regression(X, y, intercept) = {
  if rank(X) != 2 {
    _refuse(
      "linear_regression takes a matrix with a column for each variable, or a vector of one, not "
      "an array of {rank(X)} axes")
  }
  (n, k) = shape(X)
  with = _known(intercept, "intercept")
  D = if with { concat(X + 0.0, ones(n, 1); axis = 1) } else { X + 0.0 }
  b = lstsq(D, y + 0.0)
  residuals = y - D @ b
  # scaled to units of their own
  (p, q) = (_power_unit(y, none), _power_unit(D, 0))
  residue = sum(_squares(residuals / p))
  total = if with { sum(_squares(y / p - mean(y / p))) } else { sum(_squares(y / p)) }
  # inv(D'D) would square the condition number. Rows of zeros are added when
  # there are fewer rows than coefficients.
  (Q, R) = qr(concat(D / q, zeros(max(len(b) - n, 0), len(b))))
  spread = if any(diag(R) == 0) { inf + 0 * abs(b) } else {
    sum(_squares(trisolve(R, eye(len(b)) + 0 * R; lower = false)); axis = 1)
  }
  stderr = sqrt(_over_freedom(residue, n, len(b)) * spread) * (p / q[0])
  (coefficients = b[..k], intercept = if with { b[k] } else { 0.0 }, residuals = residuals,
    r2 = 1 - residue / total, stderr = stderr)
}
# pairwise_distances(X, Y): f64[m, n], the Euclidean distances of the rows of X
# from those of Y; a vector counts as one row
#     pairwise_distances([0, 0; 3, 4], [0, 0])         #> [[0], [5]]
pairwise_distances(X, Y) = {
  rows = Z -> if rank(Z) == 1 { expand(Z, 0) } else { Z }
  _roots_of_squares(expand(rows(X) + 0.0, 1) - expand(rows(Y), 0), 2)
}
