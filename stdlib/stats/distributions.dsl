# distributions.dsl - probability distributions, and random samples from arrays.
#
# A distribution is a record with its family and parameters: d = Normal(0, 2).
# Its functions are pdf(d, x), logpdf(d, x), cdf(d, x), ccdf(d, x), icdf(d, p),
# sample(d, n), moments(d).
#
# Contract:
# - x, p and the parameters are scalars or arrays that broadcast.
# - pdf of a discrete distribution is the probability of x.
# - All functions are differentiable with respect to x, p and the parameters, in
#   every mode and order. Samples of continuous distributions are, too: they
#   move with the parameters at fixed random bits (reparameterisation).
# - For invalid parameters, such as sigma < 0, all results are NaN, and sampling
#   is an error.
#
# Definitions: Johnson, Kotz and Balakrishnan, Continuous Univariate
# Distributions, 1994; Univariate Discrete Distributions, 2005.

# ---- distributions

# Normal(mu, sigma): normal distribution with this mean and standard deviation;
# Normal() is the standard normal distribution
#     pdf(Normal(0, 2), 0)        #~ 1 / sqrt(8pi)
#     cdf(Normal(), 1.96)         #~ 0.9750021048517795
Normal(mu = 0.0, sigma = 1.0) =
  (family = "Normal", mu = _finite_or_none("Normal", "mu", mu),
    sigma = _above_zero_or_none("Normal", "sigma", sigma))
# Uniform(a, b): uniform distribution between a and b
#     cdf(Uniform(1, 3), [0, 2, 4])   #> [0, 0.5, 1]
Uniform(a = 0.0, b = 1.0) =
  (family = "Uniform", a = a,
    b = _or_none("Uniform takes a below b, both finite", b, a < b and abs(b - a) < inf))
# Exponential(scale): exponential distribution with this mean
#     cdf(Exponential(2), 2)      #~ 1 - exp(-1)
Exponential(scale = 1.0) =
  (family = "Exponential", scale = _above_zero_or_none("Exponential", "scale", scale))
# Gamma(shape, scale): gamma distribution, density proportional to x^(shape-1)
# exp(-x/scale)
#     moments(Gamma(3, 2)).mean   #~ 6
Gamma(shape, scale = 1.0) =
  (family = "Gamma", shape = _above_zero_or_none("Gamma", "shape", shape),
    scale = _above_zero_or_none("Gamma", "scale", scale))
# Beta(a, b): beta distribution on 0 .. 1, density proportional to x^(a-1)
# (1-x)^(b-1)
#     cdf(Beta(2, 3), 0.5)        #~ 11/16
Beta(a, b) =
  (family = "Beta", a = _above_zero_or_none("Beta", "a", a),
    b = _above_zero_or_none("Beta", "b", b))
# ChiSquared(nu): chi-squared distribution with nu degrees of freedom, the sum
# of squares of nu standard normal variables
#     icdf(ChiSquared(1), 0.95)   #~ 3.841458820694124
ChiSquared(nu) = (family = "ChiSquared", nu = _above_zero_or_none("ChiSquared", "nu", nu))
# StudentT(nu; mu, sigma): Student's t distribution with nu degrees of freedom,
# location mu and scale sigma
#     icdf(StudentT(10), 0.975)   #~ 2.228138851986274
StudentT(nu; mu = 0.0, sigma = 1.0) =
  (family = "StudentT", nu = _above_zero_or_none("StudentT", "nu", nu),
    mu = _finite_or_none("StudentT", "mu", mu),
    sigma = _above_zero_or_none("StudentT", "sigma", sigma))
# FDist(d1, d2): Fisher's F distribution with d1 and d2 degrees of freedom, the
# ratio of two mean squares
#     icdf(FDist(5, 10), 0.95)    #~ 3.3258345304130126
FDist(d1, d2) =
  (family = "FDist", d1 = _above_zero_or_none("FDist", "d1", d1),
    d2 = _above_zero_or_none("FDist", "d2", d2))
# LogNormal(mu, sigma): log-normal distribution, of exp(x) for x of Normal(mu,
# sigma)
#     icdf(LogNormal(1, 2), 0.5)  #~ e
LogNormal(mu = 0.0, sigma = 1.0) =
  (family = "LogNormal", mu = _finite_or_none("LogNormal", "mu", mu),
    sigma = _above_zero_or_none("LogNormal", "sigma", sigma))
# Weibull(shape, scale): Weibull distribution, cdf 1 - exp(-(x/scale)^shape)
#     cdf(Weibull(2, 3), 3)       #~ 1 - exp(-1)
Weibull(shape, scale = 1.0) =
  (family = "Weibull", shape = _above_zero_or_none("Weibull", "shape", shape),
    scale = _above_zero_or_none("Weibull", "scale", scale))
# Cauchy(location, scale): Cauchy distribution; its mean and variance do not
# exist
#     icdf(Cauchy(), 0.75)        #~ 1
Cauchy(location = 0.0, scale = 1.0) =
  (family = "Cauchy", location = _finite_or_none("Cauchy", "location", location),
    scale = _above_zero_or_none("Cauchy", "scale", scale))
# Laplace(location, scale): Laplace distribution, density exp(-|x -
# location|/scale) / (2 scale)
#     pdf(Laplace(), 0)           #~ 0.5
Laplace(location = 0.0, scale = 1.0) =
  (family = "Laplace", location = _finite_or_none("Laplace", "location", location),
    scale = _above_zero_or_none("Laplace", "scale", scale))
# Logistic(location, scale): logistic distribution, whose cdf is the sigmoid
#     cdf(Logistic(), 1)          #~ sigmoid(1)
Logistic(location = 0.0, scale = 1.0) =
  (family = "Logistic", location = _finite_or_none("Logistic", "location", location),
    scale = _above_zero_or_none("Logistic", "scale", scale))
# Gumbel(location, scale): Gumbel distribution of maxima, cdf exp(-exp(-(x -
# location)/scale))
#     cdf(Gumbel(), 0)            #~ exp(-1)
Gumbel(location = 0.0, scale = 1.0) =
  (family = "Gumbel", location = _finite_or_none("Gumbel", "location", location),
    scale = _above_zero_or_none("Gumbel", "scale", scale))
# Pareto(shape, scale): Pareto distribution, cdf 1 - (scale/x)^shape for x >=
# scale
#     cdf(Pareto(3, 2), 4)        #~ 7/8
Pareto(shape, scale = 1.0) =
  (family = "Pareto", shape = _above_zero_or_none("Pareto", "shape", shape),
    scale = _above_zero_or_none("Pareto", "scale", scale))
# Poisson(rate): Poisson distribution, the number of events when `rate` are
# expected
#     pdf(Poisson(3), 2)          #~ 4.5 * exp(-3)
Poisson(rate) =
  (family = "Poisson",
    rate = _or_none("Poisson takes a rate from 0 on", rate, rate >= 0 and rate < inf))
# Binomial(n, p): binomial distribution, the number of successes in n trials of
# probability p
#     pdf(Binomial(4, 0.5), [0, 1, 2])   #~ [1, 4, 6] / 16
Binomial(n, p) =
  (family = "Binomial", n = _or_none("Binomial takes an integer n from 0 on", n,
    n >= 0 and n == floor(n) and n < inf),
    p = _or_none("Binomial takes a probability p between 0 and 1", p, 0 <= p and p <= 1))
# Bernoulli(p): Bernoulli distribution: 1 with probability p, else 0
#     moments(Bernoulli(0.3)).variance   #~ 0.21
Bernoulli(p) = Binomial(1, p)
# Geometric(p): geometric distribution, the number of failures before the first
# success
#     cdf(Geometric(0.5), 2)      #~ 7/8
Geometric(p) =
  (family = "NegativeBinomial", r = 1.0,
    p = _or_none("Geometric takes a probability p above 0, up to 1", p, 0 < p and p <= 1))
# NegativeBinomial(r, p): negative binomial distribution, the number of failures
# before the r-th success; r is any positive real
#     pdf(NegativeBinomial(2, 0.5), 1)   #~ 1/4
NegativeBinomial(r, p) =
  (family = "NegativeBinomial", r = _above_zero_or_none("NegativeBinomial", "r", r),
    p = _or_none("NegativeBinomial takes a probability p above 0, up to 1", p, 0 < p and p <= 1))
# MultivariateNormal(mu, covariance): normal distribution of vectors f64[k]. pdf
# and logpdf take a vector or the rows of a matrix; sample(d, n) returns f64[n,
# k]. There is no cdf.
#   covariance is symmetric positive definite; otherwise an error.
#     logpdf(MultivariateNormal([0.0, 0], eye(2)), [1.0, 2])   #~ -2.5 - log(2pi)
MultivariateNormal(mu, covariance) = {
  C = covariance + 0.0
  _want("MultivariateNormal", "takes a symmetric covariance, all finite",
    abs(C - transpose(C)) <= 1e-8 * max(abs(C)))
  (family = "MultivariateNormal", mu = _finite_or_none("MultivariateNormal", "mu", mu) + 0.0,
    covariance = C)
}
# Dirichlet(alpha): Dirichlet distribution of k positive values with sum 1. pdf
# and logpdf take a vector or the rows of a matrix; sample(d, n) returns f64[n,
# k]. There is no cdf.
#   pdf is 0 where the sum differs from 1 by more than 1e-6.
#     pdf(Dirichlet([1.0, 1, 1]), [0.2, 0.3, 0.5])   #~ 2
Dirichlet(alpha) =
  (family = "Dirichlet", alpha = _above_zero_or_none("Dirichlet", "alpha", alpha) + 0.0)

# A parameter, replaced by NaN when it is invalid, so that a fit sees a NaN
# density there. A constant invalid parameter is an error before the program
# runs.
_or_none(why, x, good) = if _is_fixed(all(ravel(good))) {
  if all(ravel(good)) { x } else { _refuse(why) }
} else { where(good, x, nan) }
_above_zero_or_none(name, what, x) =
  _or_none("{name} takes a finite {what} above 0", x, x > 0 and x < inf)
_finite_or_none(name, what, x) = _or_none("{name} takes a finite {what}", x, abs(x) < inf)
_want(name, what, good) = if not all(ravel(good)) { error("{name} {what}") }

# ---- functions of distributions

# pdf(d, x): probability density of a distribution at x; for a discrete one the
# probability of x.
#   0 outside the support.
#     pdf(Exponential(1), [-1, 0, 1])    #~ [0, 1, exp(-1)]
#     grad(s -> pdf(Normal(0, s), 1))(1.0)   #~ 0
pdf(d, x) = {
  f = _family(d, "pdf")
  _of_known(d, if has(f, "pdf") { f.pdf(d, x) } else { exp(f.logpdf(d, x)) })
}
# logpdf(d, x): logarithm of pdf(d, x), also where pdf underflows
#     logpdf(Normal(), 100)       #~ -5000 - 0.5log(2pi)
logpdf(d, x) = _of_known(d, _family(d, "logpdf").logpdf(d, x))
# cdf(d, x): cumulative distribution function: probability of a value <= x
#     cdf(Poisson(2), [-1, 0, 0.5])   #~ [0, exp(-2), exp(-2)]
cdf(d, x) = _of_known(d, _asked(d, "cdf")(d, x))
# ccdf(d, x): probability of a value > x: 1 - cdf(d, x) without cancellation
#     ccdf(Normal(), 10)          #~ 7.619853024160527e-24 tol 1e-36
ccdf(d, x) = {
  f = _family(d, "ccdf")
  _of_known(d, if has(f, "ccdf") { f.ccdf(d, x) } else { 1 - _asked(d, "cdf")(d, x) })
}
# icdf(d, p): quantile function: x with cdf(d, x) = p; for a discrete
# distribution the smallest integer x with cdf(d, x) >= p.
#   NaN unless 0 <= p <= 1. Continuous distributions have derivatives with
#   respect to p and the parameters.
#     icdf(Normal(), 0.975)       #~ 1.959963984540054
#     icdf(Poisson(3), [0.1, 0.5])   #> [1, 3]
icdf(d, p) = _of_known(d, _asked(d, "icdf")(d, p))
# sample(d, n): n random samples from a distribution. n may be a tuple of
# extents; without n the result is one sample. sample(region, n): points f64[n,
# d] inside a region, evenly spread.
#   The same seed gives the same samples on every machine. Normal samples use
#   the Box-Muller method, others the icdf of uniform samples.
#     shape(sample(Gamma(2.0), (3, 4)))   #> (3, 4)
sample(d, n = ()) = if _is_region(d) { _sample_region(d, n) } else {
  f = _family(d, "sample")
  for v in values(d) {
    if kind(v) == "array" {
      _want(d.family, "has no samples: a parameter is NaN, or none that it takes", v == v)
    }
  }
  if has(f, "sample") { f.sample(d, n) } else { f.icdf(d, rand(n)) }
}
# moments(d): mean and variance of a distribution, as a record.
#   Infinite or NaN where they do not exist.
#     moments(Beta(1, 1))         #~ (1/2, 1/12)
moments(d) = {
  m = _asked(d, "moments")(d)
  (mean = m[0], variance = m[1])
}

# y, or NaN where a parameter is NaN, which comparisons with it do not
# propagate.
_of_known(d, y) = {
  for v in values(d) {
    if kind(v) == "array" {
      good = v == v
      whole = all(ravel(good))
      if not _is_fixed(whole) {
        y = where(if rank(v) > 0 and
          not has(field(_families, d.family), "cdf") { whole } else { good }, y, nan)
      }
    }
  }
  y
}
_family(d, what) = {
  if kind(d) != "record" {
    _refuse("{what} takes a distribution, such as Normal(0, 1), before its number")
  }
  if not has(d, "family") {
    _refuse("{what} takes a distribution, such as Normal(0, 1), before its number")
  }
  field(_families, d.family)
}
_asked(d, what) = {
  f = _family(d, what)
  if not has(f, what) { _refuse("there is no {what} of {d.family}") }
  field(f, what)
}

_root2 = 1.4142135623730951
_root_2pi = 2.5066282746310002
_log_root_2pi = 0.9189385332046728
# f(x) inside the support, the constant `outside` elsewhere, NaN for NaN. f is
# evaluated only at points of the support: at `other` for x outside.
_inside_or(inside, x, other, f, outside) =
  where(inside, f(where(inside, x, other)), where(x == x, outside, nan))
# p, or NaN outside 0 .. 1.
_probability(p) = where(0 <= p and p <= 1, p, nan)

_families = (
  Normal = (
    pdf = (d, x) -> exp(-0.5 * ((x - d.mu) / d.sigma)^2) / (_root_2pi * d.sigma),
    logpdf = (d, x) -> -0.5 * ((x - d.mu) / d.sigma)^2 - log(d.sigma) - _log_root_2pi,
    cdf = (d, x) -> _normal_tail((d.mu - x) / d.sigma),
    ccdf = (d, x) -> _normal_tail((x - d.mu) / d.sigma),
    icdf = (d, p) -> d.mu - d.sigma * _root2 * erfcinv(2 * p),
    sample = (d, n) -> d.mu + d.sigma * randn(n),
    moments = d -> (d.mu, d.sigma^2)
  ),
  Uniform = (
    pdf = (d, x) -> _inside_or(d.a <= x and x <= d.b, x, d.a, x -> 1 / (d.b - d.a), 0.0),
    logpdf = (d, x) -> _inside_or(d.a <= x and x <= d.b, x, d.a, x -> -log(d.b - d.a), -inf),
    cdf = (d, x) -> clamp((x - d.a) / (d.b - d.a), 0.0, 1.0),
    ccdf = (d, x) -> clamp((d.b - x) / (d.b - d.a), 0.0, 1.0),
    icdf = (d, p) -> d.a + (d.b - d.a) * _probability(p),
    moments = d -> (0.5 * (d.a + d.b), (d.b - d.a)^2 / 12)
  ),
  Exponential = (
    pdf = (d, x) -> _inside_or(x >= 0, x, 0.0, x -> exp(-x / d.scale) / d.scale, 0.0),
    logpdf = (d, x) -> _inside_or(x >= 0, x, 0.0, x -> -x / d.scale - log(d.scale), -inf),
    cdf = (d, x) -> -expm1(-max(x, 0) / d.scale),
    ccdf = (d, x) -> exp(-max(x, 0) / d.scale),
    icdf = (d, p) -> -d.scale * log1p(-_probability(p)),
    moments = d -> (d.scale, d.scale^2)
  ),
  Gamma = (
    pdf = (d, x) -> _inside_or(x > 0, x, 1.0, x -> _gamma_density(d.shape, x / d.scale) / d.scale,
      where(x == 0, _at_zero(d.shape, 1 / d.scale), 0.0)),
    logpdf = (d, x) -> _inside_or(x > 0, x, 1.0, x -> _gamma_log_density(d.shape, x / d.scale) -
      log(d.scale),
      where(x == 0, log(_at_zero(d.shape, 1 / d.scale)), -inf)),
    cdf = (d, x) -> gammainc(d.shape, max(x, 0) / d.scale),
    ccdf = (d, x) -> gammaincc(d.shape, max(x, 0) / d.scale),
    icdf = (d, p) -> d.scale * gammaincinv(d.shape, p),
    moments = d -> (d.shape * d.scale, d.shape * d.scale^2)
  ),
  Beta = (
    pdf = (d, x) -> _inside_or(0 < x and x < 1, x, 0.5, x -> _beta_density(d.a, d.b, x),
      where(x == 0, _at_zero(d.a, d.b), where(x == 1, _at_zero(d.b, d.a), 0.0))),
    logpdf = (d, x) -> _inside_or(0 < x and x < 1, x, 0.5, x -> _beta_log_density(d.a, d.b, x),
      where(x == 0, log(_at_zero(d.a, d.b)), where(x == 1, log(_at_zero(d.b, d.a)), -inf))),
    cdf = (d, x) -> betainc(d.a, d.b, clamp(x, 0.0, 1.0)),
    ccdf = (d, x) -> _betaincc(d.a, d.b, clamp(x, 0.0, 1.0)),
    icdf = (d, p) -> betaincinv(d.a, d.b, p),
    moments = d -> (d.a / (d.a + d.b), d.a * d.b / ((d.a + d.b)^2 * (d.a + d.b + 1)))
  ),
  ChiSquared = (
    pdf = (d, x) -> pdf(Gamma(0.5 * d.nu, 2.0), x),
    logpdf = (d, x) -> logpdf(Gamma(0.5 * d.nu, 2.0), x),
    cdf = (d, x) -> gammainc(0.5 * d.nu, 0.5 * max(x, 0)),
    ccdf = (d, x) -> gammaincc(0.5 * d.nu, 0.5 * max(x, 0)),
    icdf = (d, p) -> 2 * gammaincinv(0.5 * d.nu, p),
    moments = d -> (1.0 * d.nu, 2.0 * d.nu)
  ),
  StudentT = (
    logpdf = (d, x) -> _t_logpdf(d.nu, (x - d.mu) / d.sigma) - log(d.sigma),
    cdf = (d, x) -> _t_cdf(d.nu, (x - d.mu) / d.sigma),
    ccdf = (d, x) -> _t_cdf(d.nu, (d.mu - x) / d.sigma),
    icdf = (d, p) -> d.mu + d.sigma * _t_icdf(d.nu, p),
    moments = d -> (where(d.nu > 1, d.mu + 0.0 * d.nu, nan),
      where(d.nu > 2, d.sigma^2 * d.nu / (where(d.nu > 2, d.nu, 3.0) - 2),
        where(d.nu > 1, inf, nan)))
  ),
  FDist = (
    pdf = (d, x) -> _inside_or(x > 0, x, 1.0,
      x -> _odds_density(0.5 * d.d1, 0.5 * d.d2, d.d1 * x / d.d2) * d.d1 / d.d2,
      where(x == 0, _at_zero(0.5 * d.d1, 1.0), 0.0)),
    logpdf = (d, x) -> _inside_or(x > 0, x, 1.0,
      x -> _odds_log_density(0.5 * d.d1, 0.5 * d.d2, d.d1 * x / d.d2) +
      log(d.d1 / d.d2), where(x == 0, log(_at_zero(0.5 * d.d1, 1.0)), -inf)),
    cdf = (d, x) -> _odds_inc(0.5 * d.d1, 0.5 * d.d2, d.d1 * max(x, 0) / d.d2),
    ccdf = (d, x) -> _odds_inc_rest(0.5 * d.d1, 0.5 * d.d2, d.d1 * max(x, 0) / d.d2),
    icdf = (d, p) -> d.d2 / d.d1 * _odds_inc_inverse(0.5 * d.d1, 0.5 * d.d2, p),
    moments = d -> (where(d.d2 > 2, d.d2 / (d.d2 - 2), inf),
      where(d.d2 > 4, 2 * d.d2^2 * (d.d1 + d.d2 - 2) / (d.d1 * (d.d2 - 2)^2 * (d.d2 - 4)), inf))
  ),
  LogNormal = (
    pdf = (d, x) -> _inside_or(x > 0, x, 1.0,
      x -> exp(-0.5 * ((log(x) - d.mu) / d.sigma)^2) / (_root_2pi * d.sigma) / x, 0.0),
    logpdf = (d, x) -> _inside_or(x > 0, x, 1.0, x -> -0.5 * ((log(x) - d.mu) / d.sigma)^2 -
      log(x) - log(d.sigma) -
      _log_root_2pi,
      -inf),
    cdf = (d, x) -> _inside_or(x > 0, x, 1.0, x -> _normal_tail((d.mu - log(x)) / d.sigma), 0.0),
    ccdf = (d, x) -> _inside_or(x > 0, x, 1.0, x -> _normal_tail((log(x) - d.mu) / d.sigma), 1.0),
    icdf = (d, p) -> exp(d.mu - d.sigma * _root2 * erfcinv(2 * p)),
    sample = (d, n) -> exp(d.mu + d.sigma * randn(n)),
    moments = d -> (exp(d.mu + 0.5 * d.sigma^2), expm1(d.sigma^2) * exp(2 * d.mu + d.sigma^2))
  ),
  Weibull = (
    pdf = (d, x) -> _inside_or(0 < x and x < inf, x, 1.0,
      x -> d.shape / d.scale * (x / d.scale)^(d.shape - 1) *
      exp(-(x / d.scale)^d.shape), where(x == 0, _at_zero(d.shape, 1 / d.scale), 0.0)),
    logpdf = (d, x) -> _inside_or(0 < x and x < inf, x, 1.0, x -> log(d.shape / d.scale) +
      (d.shape - 1) * log(x / d.scale) -
      (x / d.scale)^d.shape, where(x == 0, log(_at_zero(d.shape, 1 / d.scale)), -inf)),
    cdf = (d, x) -> _inside_or(x > 0, x, 1.0, x -> -expm1(-(x / d.scale)^d.shape), 0.0),
    ccdf = (d, x) -> _inside_or(x > 0, x, 1.0, x -> exp(-(x / d.scale)^d.shape), 1.0),
    icdf = (d, p) -> d.scale * (-log1p(-_probability(p)))^(1 / d.shape),
    moments = d -> {
      mean = d.scale * gamma(1 + 1 / d.shape)
      (mean, mean^2 * expm1(_log_gamma_bend(1 / d.shape)))
    }
  ),
  Cauchy = (
    pdf = (d, x) -> 1 / (π * d.scale * (1 + ((x - d.location) / d.scale)^2)),
    logpdf = (d, x) -> -log(π * d.scale) - _log1p_square((x - d.location) / d.scale),
    cdf = (d, x) -> atan2(1.0, (d.location - x) / d.scale) / π,
    ccdf = (d, x) -> atan2(1.0, (x - d.location) / d.scale) / π,
    # by the smaller tail; near the middle by the distance of p from 1/2
    icdf = (d, p) -> {
      tail = min(_probability(p), 1 - p);
      d.location + d.scale * where(p < 0.5, -1.0, 1.0) * sin(π * (0.5 - tail)) / sin(π * tail)
    },
    moments = d -> (nan + 0.0 * d.location, nan + 0.0 * d.scale)
  ),
  Laplace = (
    pdf = (d, x) -> exp(-abs(x - d.location) / d.scale) / (2 * d.scale),
    logpdf = (d, x) -> -abs(x - d.location) / d.scale - log(2 * d.scale),
    cdf = (d, x) -> {
      z = (x - d.location) / d.scale;
      h = 0.5 * exp(-abs(z));
      where(z < 0, h, 1 - h)
    },
    ccdf = (d, x) -> {
      z = (x - d.location) / d.scale;
      h = 0.5 * exp(-abs(z));
      where(z < 0, 1 - h, h)
    },
    icdf = (d, p) -> {
      q = _probability(p);
      d.location + d.scale * where(q < 0.5, log(2 * min(q, 0.5)), -log(2 * min(1 - q, 0.5)))
    },
    moments = d -> (d.location, 2 * d.scale^2)
  ),
  Logistic = (
    pdf = (d, x) -> { e = exp(-abs(x - d.location) / d.scale); e / (d.scale * (1 + e)^2) },
    logpdf = (d, x) -> {
      z = abs(x - d.location) / d.scale;
      -z - 2 * log1p(exp(-z)) - log(d.scale)
    },
    cdf = (d, x) -> sigmoid((x - d.location) / d.scale),
    ccdf = (d, x) -> sigmoid((d.location - x) / d.scale),
    icdf = (d, p) -> {
      q = _probability(p)
      middle = 0.25 < q and q < 0.75
      d.location +
        d.scale * where(middle, 2 * atanh(2 * where(middle, q, 0.5) - 1), log(q) - log1p(-q))
    },
    moments = d -> (d.location, (π * d.scale)^2 / 3)
  ),
  Gumbel = (
    pdf = (d, x) -> { z = max((x - d.location) / d.scale, -700.0); exp(-z - exp(-z)) / d.scale },
    logpdf = (d, x) -> {
      z = (x - d.location) / d.scale;
      where(z == -inf, -inf, -z - exp(-z)) - log(d.scale)
    },
    cdf = (d, x) -> exp(-exp((d.location - x) / d.scale)),
    ccdf = (d, x) -> -expm1(-exp((d.location - x) / d.scale)),
    icdf = (d, p) -> d.location - d.scale * log(-log(_probability(p))),
    moments = d -> (d.location + 0.5772156649015329 * d.scale, (π * d.scale)^2 / 6)
  ),
  Pareto = (
    pdf = (d, x) -> _inside_or(d.scale <= x and x < inf, x, d.scale,
      x -> d.shape / x * (d.scale / x)^d.shape, 0.0),
    logpdf = (d, x) -> _inside_or(x >= d.scale, x, d.scale, x -> log(d.shape) - log(x) -
      d.shape * _log_ratio(x, d.scale),
      -inf),
    cdf = (d, x) -> _inside_or(x >= d.scale, x, d.scale,
      x -> -expm1(-d.shape * _log_ratio(x, d.scale)), 0.0),
    ccdf = (d, x) -> _inside_or(x >= d.scale, x, d.scale, x -> (d.scale / x)^d.shape, 1.0),
    icdf = (d, p) -> d.scale * exp(-log1p(-_probability(p)) / d.shape),
    moments = d -> (where(d.shape > 1, d.shape * d.scale / (d.shape - 1), inf),
      where(d.shape > 2, d.shape * d.scale^2 / ((d.shape - 1)^2 * (d.shape - 2)), inf))
  ),
  Poisson = (
    pdf = (d, x) -> _inside_or(x >= 0 and x == floor(x), x, 0.0, x -> _gamma_density(x + 1, d.rate),
      0.0),
    logpdf = (d, x) -> _inside_or(x >= 0 and x == floor(x), x, 0.0,
      x -> _gamma_log_density(x + 1.0, d.rate), -inf),
    cdf = (d, x) -> _inside_or(x >= 0, x, 0.0, x -> gammaincc(floor(x) + 1, d.rate), 0.0),
    ccdf = (d, x) -> _inside_or(x >= 0, x, 0.0, x -> gammainc(floor(x) + 1, d.rate), 1.0),
    icdf = (d, p) -> _least_whole(k -> gammaincc(k + 1, stop_gradient(d.rate)),
      p + 0.0 * stop_gradient(d.rate)),
    moments = d -> (d.rate, d.rate)
  ),
  Binomial = (
    pdf = (d, x) -> _inside_or(0 <= x and x <= d.n and x == floor(x), x, 0.0,
      x -> _beta_density(x + 1.0, d.n - x + 1.0, d.p) / (d.n + 1), 0.0),
    logpdf = (d, x) -> _inside_or(0 <= x and x <= d.n and x == floor(x), x, 0.0,
      x -> _binomial_log(1.0 * d.n, x, d.p), -inf),
    cdf = (d, x) -> _inside_or(0 <= x and x < d.n, x, 0.0,
      x -> _betaincc(floor(x) + 1, max(d.n - floor(x), 0.5), d.p), where(x < 0, 0.0, 1.0)),
    ccdf = (d, x) -> _inside_or(0 <= x and x < d.n, x, 0.0,
      x -> betainc(floor(x) + 1, max(d.n - floor(x), 0.5), d.p), where(x < 0, 1.0, 0.0)),
    icdf = (d, p) -> {
      n = stop_gradient(1.0 * d.n)
      q = stop_gradient(d.p)
      where(p == 1, n,
        _least_whole(k -> where(k < n, _betaincc(k + 1, max(n - k, 0.5), q), 1.0), p + 0.0 * n * q))
    },
    moments = d -> (d.n * d.p, d.n * d.p * (1 - d.p))
  ),
  NegativeBinomial = (
    pdf = (d, x) -> _inside_or(x >= 0 and x == floor(x), x, 0.0,
      x -> _beta_density(1.0 * d.r, x + 1.0, d.p) * d.p / (d.r + x), 0.0),
    logpdf = (d, x) -> _inside_or(x >= 0 and x == floor(x), x, 0.0,
      x -> _beta_log_density(1.0 * d.r, x + 1.0, d.p) +
      log(d.p) - log(d.r + x), -inf),
    cdf = (d, x) -> _inside_or(x >= 0, x, 0.0, x -> betainc(d.r, floor(x) + 1, d.p), 0.0),
    ccdf = (d, x) -> _inside_or(x >= 0, x, 0.0, x -> _betaincc(d.r, floor(x) + 1, d.p), 1.0),
    icdf = (d, p) -> {
      r = stop_gradient(1.0 * d.r)
      q = stop_gradient(d.p)
      _least_whole(k -> betainc(r, k + 1, q), p + 0.0 * r * q)
    },
    moments = d -> (d.r * (1 - d.p) / d.p, d.r * (1 - d.p) / d.p^2)
  ),
  MultivariateNormal = (
    logpdf = (d, x) -> {
      L = cholesky(d.covariance)
      y = x - d.mu
      z = if rank(y) == 1 { trisolve(L, y) } else { transpose(trisolve(L, transpose(y))) }
      -0.5 * sum(z^2; axis = -1) - sum(log(diag(L))) - len(d.mu) * _log_root_2pi
    },
    sample = (d, n) -> {
      L = cholesky(d.covariance)
      d.mu + randn(_lengths(n, len(d.mu))) @ L'
    },
    moments = d -> (d.mu, d.covariance)
  ),
  Dirichlet = (
    logpdf = (d, x) -> {
      positive = x > 0
      at_zero = where(d.alpha == 1, 0.0, where(d.alpha < 1, inf, -inf))
      power =
        where(positive, (d.alpha - 1) * log(where(positive, x, 1.0)), where(x < 0, -inf, at_zero))
      inside = all(x >= 0; axis = -1) and abs(sum(x; axis = -1) - 1) < 1e-6
      where(inside, lgamma(sum(d.alpha)) - sum(lgamma(d.alpha)) + sum(power; axis = -1),
        where(any(isnan(x); axis = -1), nan, -inf))
    },
    sample = (d, n) -> {
      g = gammaincinv(d.alpha, rand(_lengths(n, len(d.alpha))))
      g / sum(g; axis = -1, keepdims = true)
    },
    moments = d -> {
      total = sum(d.alpha)
      share = d.alpha / total
      (share, (diag(share) - outer(share, share)) / (total + 1))
    }
  )
)

_lengths(n, k) = if kind(n) == "tuple" or kind(n) == "list" { (...n, k) } else { (n, k) }
# The value at 0 of a density that behaves like x^(a-1).
_at_zero(a, value) = where(a < 1, inf, where(a == 1, value, 0.0))
# lgamma(1 + 2h) - 2 lgamma(1 + h). Near 0 it uses the series of lgamma (DLMF
# 5.7.3) without the terms that cancel.
_log_gamma_bend(h) = {
  near = h < 0.05
  t = where(near, h, 0.0)
  total = 0 * t
  for k in 0..16 { n = 17 - k; total = (2.0^n - 2) / n * _zeta_from_two[n - 2] - t * total }
  where(near, t^2 * total, lgamma(1 + 2 * where(near, 1.0, h)) -
    2 * lgamma(1 + where(near, 1.0, h)))
}
_zeta_from_two = [1.6449340668482264, 1.2020569031595943, 1.0823232337111382, 1.0369277551433699,
  1.0173430619844491, 1.0083492773819228, 1.0040773561979443, 1.0020083928260822,
  1.0009945751278181, 1.0004941886041195, 1.000246086553308, 1.0001227133475785, 1.0000612481350587,
  1.0000305882363070, 1.0000152822594087, 1.0000076371976379]

# log(1 + z^2), also where z^2 overflows.
_log1p_square(z) = {
  large = abs(z) > 1e8
  where(large, 2 * log(abs(where(large, z, 1.0))), log1p(where(large, 0.0, z)^2))
}
# log(x/s), x >= s.
_log_ratio(x, s) = where(x < 2 * s, log1p(min((x - s) / s, 1.0)), log(x / s))
# The smallest integer k >= 0 with F(k) >= p, by doubling and bisection.
_least_whole(F, p) = {
  q = stop_gradient(where(0 <= p and p < 1, p, 0.0))
  low = 0.0 * q - 1
  high = 0.0 * q
  while any(F(high) < q) {
    short = F(high) < q
    low = where(short, high, low)
    high = where(short, 2 * high + 1, high)
  }
  # beyond 2^53 the spacing of floating-point values exceeds 1
  while any(high - low > max(1, 2.3e-16 * high)) {
    mid = floor(0.5 * (low + high))
    short = F(max(mid, 0)) < q
    low = where(mid > low and short, mid, low)
    high = where(mid > low and not short, mid, high)
  }
  where(0 <= p and p < 1, high, where(p == 1, inf, nan))
}

# ---- Student's t

# x^2/nu are the odds. For |x| > _T_FAR sqrt(nu) their square would overflow;
# there the tail is a power of x up to rounding.
_T_FAR = 1e100
_t_logpdf(nu, x) =
  -0.5 * (nu + 1) * _log1p_square(x / sqrt(nu)) - lbeta(0.5 * nu, 0.5) - 0.5 * log(nu)
_t_cdf(nu, x) = {
  far = abs(x) > _T_FAR * sqrt(nu)
  power = exp(-nu * log(abs(where(far, x, 1.0)) / sqrt(nu)) - log(nu) - lbeta(0.5 * nu, 0.5))
  tail = where(far, power, 0.5 * _odds_inc_rest(0.5, 0.5 * nu, where(far, 1.0, x)^2 / nu))
  where(x < 0, tail, 1 - tail)
}
derivative _t_cdf(nu, x), dnu, dx = exp(_t_logpdf(nu, x)) * dx + _t_by_nu(nu, x, y, dnu)
_t_by_nu(nu, x, y, dnu) = if _absent(dnu) { 0.0 } else {
  fixed = x + 0.0 * y
  # the part that depends on nu at fixed x: the parameter and the argument of
  # betainc(1/2, nu/2, x^2/(nu + x^2)), half of it on each side
  moved = nu -> 0.5 * sign(fixed) *
    (1 - _betainc_sum(0.5 * nu, 0.5 + 0.0 * fixed, nu / (nu + where(fixed == 0, 1.0, fixed^2))))
  where(fixed == 0, 0.0, jvp(moved, nu + 0.0 * y, dnu + 0.0 * y)[1])
}
_t_icdf(nu, p) = {
  tail = min(p, 1 - p)
  log_power = -(log(tail) + log(nu) + lbeta(0.5 * nu, 0.5)) / nu
  far = log_power > 230 # log(_T_FAR)
  outer = tail < 0.1
  z = _odds_inc_inverse(0.5 * nu, 0.5, 2 * where(outer and not far, tail, 0.05))
  w = _odds_inc_inverse(0.5, 0.5 * nu, 1 - 2 * where(outer, 0.25, tail))
  sign(p - 0.5) * sqrt(nu) * where(far, exp(log_power), where(outer, 1 / sqrt(z), sqrt(w)))
}
derivative _t_icdf(nu, p), dnu, dp = (dp - _t_by_nu(nu, y, y, dnu)) / exp(_t_logpdf(nu, y))

# ---- random samples from arrays

# randint(a, b, n): n random integers from a to b - 1, uniformly distributed. n
# may be a tuple of extents; without n the result is one integer.
#   Error unless a < b, and for more than 2^53 integers, which rand cannot
#   resolve.
#     seed(1)
#     shape(randint(0, 10, (2, 3)))   #> (2, 3)
randint(a, b, n = ()) = {
  many = b - a
  _want("randint", "takes a below b: there are no integers from {a} to {b} - 1", a < b)
  _want("randint", "tells no more than 2^53 numbers apart", 0 < many and many <= 2^53)
  a + i64(floor(rand(n) * many))
}
# permutation(n): the integers 0 .. n-1 in random order
#     sort(permutation(5))        #> [0, 1, 2, 3, 4]
permutation(n) = argsort(rand(n))
# shuffle(x): the rows of an array in random order
#     sort(shuffle([3, 1, 2]))    #> [1, 2, 3]
shuffle(x) = x[permutation(len(x))]
# choice(x, n; replace, p): n random rows of an array. x may be an integer; then
# 0 .. x-1 are drawn.
#   replace = false: no row twice, n <= len(x). p: relative probabilities of the
#   rows (with replacement only). Without n the result is one row.
#     shape(choice([1.0, 2, 3], 10))  #> (10,)
choice(x, n = (); replace = true, p = none) = {
  if rank(x) == 0 { _want("choice", "takes an array, or an integer above 0, not {x}", x > 0) }
  rows = if rank(x) == 0 { iota(x) } else { x }
  _want("choice", "has nothing to draw from: the array is empty", len(rows) > 0)
  if kind(p) != "none" {
    assert(replace, "choice with probabilities p draws with replacement")
    assert(len(p) == len(rows), "choice takes as many probabilities as there are rows")
    _want("choice", "takes probabilities from 0 on, finite, not all 0", all(p >= 0) and
      sum(p) > 0 and sum(p) < inf)
    c = cumsum(p)
    assert(all(p >= 0) and 0 < c[-1] and c[-1] < inf,
      "choice takes probabilities that are not negative, and not all 0")
    rows[min(_count_up_to(c, rand(n) * c[-1]), len(rows) - 1)]
  } else {
    if replace or (kind(n) == "tuple" and len(n) == 0) { rows[randint(0, len(rows), n)] } else {
      assert(n <= len(rows), "choice without replacement: there are {len(rows)} rows, not {n}")
      rows[permutation(len(rows))[..n]]
    }
  }
}
