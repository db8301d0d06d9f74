# The library's statistics. Oracle: values computed by hand, or definitions.
check(f, x) = { c = check_grad(f, x); c.reverse_forward < 1e-12 and c.differences < 1e-7 }
x = [2.0, 7, 1, 8, 2, 8, 1, 8, 2, 8]
A = [1.0, 5, 2; 4, 0, 9]

mean(A; axis = (0, 1))       #~ 3.5
weighted_mean(A, [1, 3]; axis = 0)   #~ [3.25, 1.25, 7.25]
weighted_mean(A, [1, 1, 2]; axis = 1)        #~ [2.5, 5.5]
weighted_mean(A, A)          #~ sum(A^2) / sum(A)
weighted_mean([1, inf], [1, 2])      #> inf
geometric_mean([1.0, 2; 4, 8]; axis = 0)     #~ [2, 4]
harmonic_mean([2, 6])        #~ 3
rms(A; axis = 1)             #~ [sqrt(10), sqrt(97/3)]
median(x)                    #> 4.5
median([5])                  #> 5.0
median(A; axis = 1)          #> [2, 4]
median([1, nan, 3])          #> nan
median(A; axis = -2)         #> [2.5, 2.5, 5.5]
quantile(x, [0, 0.1, 0.5, 1])        #~ [1, 1, 4.5, 8]
quantile([10, 20], [0.25, 0.5; 0.75, 1])     #> [[12.5, 15], [17.5, 20]]
quantile(A, [0.5, 1]; axis = 1)      #> [[2, 4], [5, 9]]
quantile([1, inf], 0)        #> 1.0
quantile([-inf, inf, inf], 0.75)     #> inf
percentile(x, 90)            #~ 8
mode([1.5, 2, 1.5])          #> 1.5
grad(median)([3.0, 1, 2, 5]) #> [0.5, 0, 0.5, 0]
grad(x -> quantile(x, 0.25))([3.0, 1, 2])    #> [0, 0.5, 0.5]
(q -> quantile(x, q))'(0.35) #~ 0
(q -> quantile([1.0, 4, 9], q))'(0.6)        #~ 10
map(median, A)               #> [2, 4]
map(v -> quantile(v, [0.0, 1]), A)   #> [[1, 5], [0, 9]]
hessian(x -> median(x)^2)([3.0, 1, 2])       #> [[0, 0, 0], [0, 0, 0], [0, 0, 2]]

var(A; axis = 1, ddof = 1)   #~ [13/3, 61/3]
var(A; axis = 0)             #~ [2.25, 6.25, 12.25]
std(A; axis = 1, ddof = 1)^2 #~ [13/3, 61/3]
ptp(A; axis = 0)             #> [3, 5, 7]
iqr(A; axis = 1)             #> [2, 4.5]
moment([1, 2, 6], 3)         #~ 6
skewness(A; axis = 1)[0]     #~ moment(A[0], 3) / var(A[0])^1.5
kurtosis(A; axis = 0)        #~ [-2, -2, -2]
zscore(A; axis = 1)[0]       #~ (A[0] - mean(A[0])) / std(A[0])
mean(zscore(x; ddof = 1))    #~ 0
std(zscore(x; ddof = 1); ddof = 1)   #~ 1
check(x -> skewness(x) + kurtosis(x), x)     #> true

N = [1, nan, 3; nan, nan, nan]
nansum(N)                    #> 4.0
nansum(N; axis = 1)          #> [4, 0]
nanmean(N; axis = 1)         #> [2, nan]
nanmax(N; axis = 0)          #> [1, -inf, 3]
nanmin(N)                    #> 1.0
grad(nansum)([1, nan])       #> [1, 0]
grad(nanmean)([1.0, nan, 2]) #> [0.5, 0, 0.5]

y = [1.0, 3, 1, 4, 0, 5, 1, 6, 2, 5]
cov(x, y)                    #~ sum((x - mean(x)) * (y - mean(y))) / 9
cov(x, x; ddof = 0)          #~ var(x)
C = cov(stack(x, y; axis = 1))
C[0, 1]                      #~ cov(x, y)
C[1, 1]                      #~ var(y; ddof = 1)
corrcoef(stack(x, y; axis = 1))[1, 0]        #~ corrcoef(x, y)
corrcoef(x, -2x + 3)         #~ -1
ranks([3, 1, 3, nan])        #> [2.5, 1, 2.5, 4]
spearman(x, exp(x))          #~ 1
autocorrelation([1.0, -1, 1, -1], 3)         #~ [1, -0.75, 0.5]
check(x -> corrcoef(x, y) + cov(x, y), x)    #> true

f = linregress(x, y)
(s, i) = (f.slope, f.intercept)
f.r                          #~ corrcoef(x, y)
sum(y - s * x - i)           #~ 0 tol 1e-13
sum((y - s * x - i) * x)     #~ 0 tol 1e-12
g = linear_regression(expand(x, 1), y);
g.coefficients               #~ [s] tol 1e-12
g.intercept                  #~ i tol 1e-12
g.r2                         #~ f.r^2 tol 1e-12
g.stderr                     #~ [f.stderr, f.intercept_stderr] tol 1e-12
linear_regression([1.0; 2], [2.0, 4]; intercept = false).coefficients        #~ [2]
check(y -> linregress(x, y).slope^2, y)      #> true
check(y -> sum(linear_regression(expand(x, 1), y).coefficients^2), y)        #> true
pairwise_distances(A, A)     #~ norm(A[0] - A[1]) * [0, 1; 1, 0]
try { median(zeros(0)) } catch m { m }       #> a quantile of nothing
try { quantile(x, 1.5) } catch m { m }       #> a quantile is asked for a part between 0 and 1

# without degrees of freedom, the spread is NaN
isnan(var([1.0, 2]; ddof = 2)) and isnan(var([1.0, 2]; ddof = 3)) and isnan(cov([1.0], [2.0]))          #> true
isnan(linregress([1.0, 2], [1.0, 3]).stderr)  #> true
isnan(linear_regression([1.0; 2], [1.0, 3]).stderr)    #> [true, true]
pairwise_distances([1.0, 2], [3.0, 4])        #~ [[sqrt(8)]]
pairwise_distances([0, 0; 3e200, 4e200], [0.0, 0])            #~ [0; 5e200]

# ---- numbers whose squares overflow or underflow

wide_x = [1.0, 2, 4, 7]
wide_y = [2.0, 3, 9, 4]
[rms(1e200 * wide_x), std(1e200 * wide_x)] / 1e200              #~ [sqrt(17.5), sqrt(5.25)]
[rms(1e-200 * wide_x), std(1e-200 * wide_x)] / 1e-200           #~ [sqrt(17.5), sqrt(5.25)]
rms(1e200 * [3.0, 4; 1, 0]; axis = 1) / 1e200                    #~ [sqrt(12.5), sqrt(0.5)]
zscore(1e200 * wide_x)                                          #~ zscore(wide_x)
zscore(1e-200 * wide_x)                                         #~ zscore(wide_x)
corrcoef(1e-200 * wide_x, 1e200 * wide_y)                       #~ corrcoef(wide_x, wide_y)
corrcoef(stack(1e-200 * wide_x, 1e200 * wide_y)')[0]            #~ [1, corrcoef(wide_x, wide_y)]
[skewness(1e-150 * wide_x), kurtosis(1e150 * wide_x)]           #~ [skewness(wide_x), kurtosis(wide_x)]
autocorrelation(1e200 * wide_x, 2)                              #~ autocorrelation(wide_x, 2)
wide_line = linregress(1e150 * wide_x, 1e-150 * wide_y)
line = linregress(wide_x, wide_y)
[wide_line.slope * 1e150 * 1e150, wide_line.r, wide_line.stderr * 1e150 * 1e150]   #~ [line.slope, line.r, line.stderr]
wide_fit = linear_regression(expand(1e200 * wide_x, 1), 1e200 * wide_y)
fit = linear_regression(expand(wide_x, 1), wide_y)
[wide_fit.r2, wide_fit.stderr[0], wide_fit.stderr[1] / 1e200]   #~ [fit.r2, fit.stderr[0], fit.stderr[1]]
grad(v -> std(v))([1.0, 2, 4])                                  #~ ([1.0, 2, 4] - 7/3) / (3 * std([1.0, 2, 4]))
# a vector is one column
linear_regression([0.0, 1, 2], [1.0, 3, 5]).coefficients   #~ [2] tol 1e-12
linear_regression([0.0, 1, 2], [1.0, 3, 5]).intercept      #~ 1 tol 1e-12
# ---- complex numbers
# Variances are real; correlations conjugate the first argument, as matrix
# products do.

z = [1 + 2im, 3 - 1im, 0.5im]
w = [2 - 1im, 1 + 1im, 3 + 0im]
var(z)                                        #~ 55/18
std(z)                                        #~ sqrt(55/18)
cov(z, w)                                     #~ -3 + 0.25im
cov(stack(z, w; axis = 1))[0, 1]              #~ -3 + 0.25im
abs(corrcoef(z, w))                           #~ sqrt(9.0625 / (55/12 * 2))
mean(abs(zscore(z))^2)                        #~ 1
grad(z -> var(z))(z)                          #~ 2/3 * (z - mean(z))
autocorrelation(z, 2)                         #~ [1, sum((z[1..] - mean(z)) * conj(z[..2] - mean(z))) / (3var(z))]
line = linregress([1.0, 2, 3], 2im * [1.0, 2, 3] + 1)
(line.slope, line.intercept, line.r)          #~ (2im, 1, 1im)
linear_regression([1.0; 2; 3; 5], [1im, 2im, 3im, 5.2im]).r2       #~ linear_regression([1.0; 2; 3; 5], [1, 2, 3, 5.2]).r2

# ---- standard errors with almost dependent data, or data far from 0
# Oracle: 60 digits.

year = [2000.0 + k for k in 0..21]
bent = linear_regression(stack(year, year^2; axis = 1), [0.3k - 0.02k^2 + 0.05sin(7.0k) for k in 0..21])
bent.stderr / [0.9564008195386, 0.0002379104371788, 961.1766994822]       #~ ones(3) tol 1e-8
far = linregress(1e9 + iota(10), 2iota(10) + 1e-4 * sin(3iota(10)))
far.stderr                                    #~ 7.674131422269e-6 tol 1e-12
isnan(linear_regression([1.0, 2, 3; 4, 5, 6], [1.0, 2]).stderr)          #> [true, true, true, true]
linear_regression([1.0, 2, 3; 4, 5, 6], [1.0, 2]).r2                      #~ 1
try { cov([1.0, 2], [1.0]); "taken" } catch m { m }      #> the covariance of vectors of 2 and 1 elements
