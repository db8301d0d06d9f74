# Fits: standard errors against NIST's certified ones, intervals, undetermined
# parameters, bounds, outliers, derivatives with respect to the data.

use "_nist_strd.dsl" as s

# Certified standard deviations and that of the residual, to the number of
# digits in agreement.
agrees(a, b) = min(-log10(abs(a - b) / abs(b) + 1e-10)) > 6
d = s.misra1a
f = fit((p, x) -> p.a * (1 - exp(-p.k * x)), d.x, d.y, (a = 250.0, k = 0.0005))
agrees(flatten(f.stderr)[0], d.deviations)   #> true
f.deviation                  #~ 1.0187876330e-1 tol 1e-9
f.chi2                       #~ d.rss tol 1e-9
f.dof                        #> 12
(f.upper.a - f.p.a) / f.stderr.a     #~ 2.1788128296634177 tol 1e-9
f.identifiability.undetermined       #> 0
d = s.gauss1
g = fit((p, x) -> p[0] * exp(-p[1] * x) + p[2] * exp(-(x - p[3])^2 / p[4]^2) + p[5] * exp(-(x - p[6])^2 / p[7]^2), d.x, d.y,
  d.start2)
agrees(g.stderr, d.deviations)       #> true
agrees(g.deviation, sqrt(d.rss / 242))       #> true
d = s.roszman1
g = fit((p, x) -> p[0] - p[1] * x - atan(p[2] / (x - p[3])) / π, d.x, d.y, d.start1)
agrees(g.stderr, d.deviations)       #> true

# a line, against linregress
x = [0.0, 1, 2, 3, 4]
y = [1.0, 2.9, 5.2, 7.1, 8.8]
l = fit((p, x) -> p[0] + p[1] * x, x, y, [0.0, 0])
r = linregress(x, y)
l.p                          #~ [r.intercept, r.slope]
l.stderr                     #~ [r.intercept_stderr, r.stderr]
l.r2                         #~ r.r^2
l.correlation[0, 1]          #~ -2 / sqrt(6)
l.value(10.0)                #~ r.intercept + 10 * r.slope
# half-width at x: t s sqrt(1/n + (x - mean)^2 / Sxx)
l.band([2.0, 10.0])          #~ 3.182446305284263 * l.deviation * sqrt(1/5 + [0.0, 64] / 10) tol 1e-9
# with known errors, the covariance follows from them alone
w = fit((p, x) -> p[0] + p[1] * x, x, y, [0.0, 0]; sigma = [0.1, 0.1, 0.2, 0.2, 0.4])
A = stack(ones(5), x; axis = 1) / expand([0.1, 0.1, 0.2, 0.2, 0.4], 1)
w.covariance                 #~ inv(A' @ A) tol 1e-10
w.p                          #~ lstsq(A, y / [0.1, 0.1, 0.2, 0.2, 0.4]) tol 1e-10

# undetermined parameters
u = fit((p, x) -> p.a * p.b * exp(-p.k * x), x, 6 * exp(-0.5 * x), (a = 1.0, b = 2.0, k = 0.1))
u.identifiability.undetermined       #> 1
abs(u.identifiability.directions)    #~ [[sqrt(0.5), sqrt(0.5), 0]] tol 1e-6
u.stderr.a                   #> inf
u.p.a * u.p.b                #~ 6 tol 1e-8
u.stderr.k < 1e-8            #> true
contains(report(u), "do not determine 1 of 3")       #> true

# bounds: a parameter at a bound counts as known
b = fit((p, x) -> p[0] + p[1] * x, x, y, [0.0, 0]; upper = [inf, 1.5])
b.p                          #~ [mean(y) - 3, 1.5] tol 1e-9
b.stderr[1]                  #> 0.0
b.dof                        #> 4
b.converged                  #> true

# an outlier
z = 1 + 2x
z[2] = 100.0
abs(fit((p, x) -> p[0] + p[1] * x, x, z, [0.0, 0]; loss = "cauchy").p - [1, 2]) < 0.1    #> [true, true]
fit((p, x) -> p[0] + p[1] * x, x, z, [0.0, 0]; loss = "huber").p       #~ fit((p, x) -> p[0] + p[1] * x, x, z, [5.0, 1]; loss = "huber").p tol 1e-6

# Derivatives of parameters and errors with respect to the data: for a line, by
# linear algebra.
jacobian(y -> fit((p, x) -> p[0] + p[1] * x, x, y, [0.0, 0]).p)(y)   #~ pinv(stack(ones(5), x; axis = 1)) tol 1e-9
s2 = y -> linregress(x, y).stderr
grad(y -> fit((p, x) -> p[0] + p[1] * x, x, y, [0.0, 0]).stderr[1])(y)       #~ grad(s2)(y) tol 1e-8
map(k -> fit((p, x) -> p[0] * exp(-p[1] * x), x, 3 * exp(-k * x), [1.0, 1]).p[1], [0.2, 0.5])      #~ [0.2, 0.5] tol 1e-9
# as many parameters as data: the spread is undetermined
f = fit((p, x) -> p[0] + p[1] * x, [0.0, 1], [1.0, 3], [0.0, 0])
(f.p, f.dof, f.stderr, f.deviation)           #~ ([1, 2], 0, [inf, inf], inf) tol 1e-10

# A line far from the origin: a short, damped step is not the end, from any
# start.
far = 1.7e9 + iota(30)
beside = 20 + 0.5 * iota(30) + sin(iota(30))
map(s -> fit((p, x) -> p[0] + p[1] * x, far, beside, [0.0, s]).p[1], [0.0, 0.4, 1, 100])  #~ linregress(iota(30), beside).slope + zeros(4) tol 1e-7
map(s -> fit((p, x) -> p[0] + p[1] * x, 1e8 + [1.0, 2, 3, 4], [2.0, 4, 6.5, 8], [0.0, s]).p[1], [0.0, 1])    #~ [2.05, 2.05] tol 1e-7

# A best parameter that is 0 to rounding has a standard error like any other.
f = fit((p, x) -> p[0] * x + p[1], [1.0, 2, 3, 4], [2.0, 4, 6.5, 8], [1.0, 1])
l = linregress([1.0, 2, 3, 4], [2.0, 4, 6.5, 8])
f.stderr                     #~ [l.stderr, l.intercept_stderr] tol 1e-9
f.identifiability.undetermined       #> 0
said(g) = try { g(); "" } catch m { m }
contains(said(() -> fit((p, x) -> p * x, x, y, 1.0; level = 2.0)), "between 0 and 1")    #> true
