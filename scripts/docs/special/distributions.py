"""distributions.py - rows of pdf, logpdf, cdf, ccdf and icdf of distributions."""

import math

import mpmath as mp
import numpy as np
import scipy.stats as st
from values import (
    any_of,
    beta_tail,
    both,
    erfcinv,
    gamma_tail,
    log_uniform,
    row,
    SHAPE,
    solved,
    uniform,
    unit,
    whole,
)

# ---- distributions
#
# Each kind is a function of (parameters, x). `cut` draws x, also in the tails.


def distribution(family, params, dsl, pdf, lower, upper, inverse, cut, peer, discrete=False):
    names = ", ".join("abc"[: len(params)])

    def at(r):
        p = [d(r) for d in params]
        return p + [cut(r, p)]

    def level(r):
        while True:
            p = [d(r) for d in params]
            x = cut(r, p)
            try:
                q = float(lower(*map(mp.mpf, p), mp.mpf(x)))
            except (ValueError, ZeroDivisionError):
                continue
            if 1e-250 < q < 1 - 1e-16:
                return p + [q, x]

    group = "distributions"
    head = f"({names}, x) -> " if names else "x -> "
    row(
        group,
        f"pdf of {family}",
        f"{head}pdf({dsl}, x)",
        pdf,
        peer and (lambda *a: getattr(peer(*a[:-1]), "pmf" if discrete else "pdf")(a[-1])),
        at,
    )
    row(
        group,
        f"logpdf of {family}",
        f"{head}logpdf({dsl}, x)",
        lambda *a: mp.log(pdf(*a)),
        peer and (lambda *a: getattr(peer(*a[:-1]), "logpmf" if discrete else "logpdf")(a[-1])),
        at,
    )
    row(
        group,
        f"cdf of {family}",
        f"{head}cdf({dsl}, x)",
        lower,
        peer and (lambda *a: peer(*a[:-1]).cdf(a[-1])),
        at,
    )
    row(
        group,
        f"ccdf of {family}",
        f"{head}ccdf({dsl}, x)",
        upper,
        peer and (lambda *a: peer(*a[:-1]).sf(a[-1])),
        at,
    )
    if inverse:
        row(
            group,
            f"icdf of {family}",
            f"({names + ', ' if names else ''}p, x) -> icdf({dsl}, p)",
            inverse,
            peer and (lambda *a: peer(*a[:-2]).ppf(a[-2])),
            level,
        )


def wide(scale):
    """Draws x around 0 and far into both tails."""
    return any_of(
        lambda r: scale * r.gauss(0, 1),
        lambda r: scale * r.choice((1, -1)) * log_uniform(1e-3, 30)(r),
    )


def ncdf(z):
    return mp.erfc(-z / mp.sqrt(2)) / 2


def nquantile(p):
    return -mp.sqrt(2) * erfcinv(2 * p)


distribution(
    "Normal",
    [uniform(-3, 3), log_uniform(0.1, 10)],
    "Normal(a, b)",
    lambda m, s, x: mp.npdf((x - m) / s) / s,
    lambda m, s, x: ncdf((x - m) / s),
    lambda m, s, x: ncdf((m - x) / s),
    lambda m, s, p, x: m + s * nquantile(p),
    lambda r, p: p[0] + p[1] * wide(1)(r),
    lambda m, s: st.norm(m, s),
)
distribution(
    "Uniform",
    [uniform(-3, 0), uniform(0.5, 3)],
    "Uniform(a, b)",
    lambda a, b, x: 1 / (b - a),
    lambda a, b, x: (x - a) / (b - a),
    lambda a, b, x: (b - x) / (b - a),
    lambda a, b, p, x: a + (b - a) * p,
    lambda r, p: r.uniform(p[0], p[1]),
    lambda a, b: st.uniform(a, b - a),
)
distribution(
    "Exponential",
    [log_uniform(0.1, 10)],
    "Exponential(a)",
    lambda s, x: mp.exp(-x / s) / s,
    lambda s, x: -mp.expm1(-x / s),
    lambda s, x: mp.exp(-x / s),
    lambda s, p, x: -s * mp.log1p(-p),
    lambda r, p: p[0] * log_uniform(1e-100, 600)(r),
    lambda s: st.expon(0, s),
)


def gamma_pdf(a, s, x):
    return mp.exp((a - 1) * mp.log(x / s) - x / s - mp.loggamma(a)) / s


def gamma_cut(r, a):
    return (
        abs(
            r.choice(
                (
                    a * math.exp(r.gauss(0, 1)),
                    a + math.sqrt(a) * r.gauss(0, 2),
                    a + math.sqrt(a) * r.uniform(5, 25),
                    a * log_uniform(1e-3, 1)(r),
                )
            )
        )
        or 1.0
    )


distribution(
    "Gamma",
    [SHAPE, log_uniform(0.1, 10)],
    "Gamma(a, b)",
    gamma_pdf,
    lambda a, s, x: gamma_tail(a, x / s, False),
    lambda a, s, x: gamma_tail(a, x / s, True),
    lambda a, s, p, x: s * solved(lambda y, up: gamma_tail(a, y, up), p, x / s),
    lambda r, p: p[1] * gamma_cut(r, p[0]),
    lambda a, s: st.gamma(a, 0, s),
)
distribution(
    "ChiSquared",
    [any_of(whole(1, 1000), log_uniform(0.1, 100))],
    "ChiSquared(a)",
    lambda n, x: gamma_pdf(n / 2, 2, x),
    lambda n, x: gamma_tail(n / 2, x / 2, False),
    lambda n, x: gamma_tail(n / 2, x / 2, True),
    lambda n, p, x: 2 * solved(lambda y, up: gamma_tail(n / 2, y, up), p, x / 2),
    lambda r, p: 2 * gamma_cut(r, p[0] / 2),
    st.chi2,
)


def beta_pdf(a, b, x, y):
    return mp.exp(
        (a - 1) * mp.log(x)
        + (b - 1) * mp.log(y)
        + mp.loggamma(a + b)
        - mp.loggamma(a)
        - mp.loggamma(b)
    )


def beta_cut(r, p):
    mean = p[0] / (p[0] + p[1])
    spread = math.sqrt(mean * (1 - mean) / (p[0] + p[1] + 1))
    x = r.choice((unit(r), mean + spread * r.gauss(0, 2), mean + spread * r.uniform(-15, 15)))
    return x if 0 < x < 1 else r.uniform(0, 1)


BETA_SHAPE = any_of(log_uniform(1e-3, 1), log_uniform(0.3, 100), log_uniform(10, 1e5))
distribution(
    "Beta",
    [BETA_SHAPE, BETA_SHAPE],
    "Beta(a, b)",
    lambda a, b, x: beta_pdf(a, b, x, 1 - x),
    lambda a, b, x: beta_tail(a, b, x, 1 - x, False),
    lambda a, b, x: beta_tail(a, b, x, 1 - x, True),
    lambda a, b, p, x: solved(lambda y, up: beta_tail(a, b, y, 1 - y, up), p, x),
    beta_cut,
    st.beta,
)


def t_upper(n, x):
    """P(T > x), x >= 0"""
    return beta_tail(n / 2, mp.mpf(1) / 2, n / (n + x * x), x * x / (n + x * x), False) / 2


def t_lower(n, x):
    return t_upper(n, -x) if x < 0 else 1 - t_upper(n, x)


def t_inverse(n, p, x):
    if abs(p - 0.5) < 1e-8:
        return mp.findroot(lambda y: t_lower(n, y) - p, x)
    tail = min(p, 1 - p)
    return (
        mp.sign(p - 0.5)
        * 1
        / solved(lambda y, up: 1 - t_upper(n, 1 / y) if up else t_upper(n, 1 / y), tail, 1 / abs(x))
    )


DEGREES = any_of(log_uniform(0.1, 2), whole(1, 100), log_uniform(1, 1e8))
distribution(
    "StudentT",
    [DEGREES],
    "StudentT(a)",
    lambda n, x: mp.exp(
        -(n + 1) / 2 * mp.log1p(x * x / n) + mp.loggamma((n + 1) / 2) - mp.loggamma(n / 2)
    )
    / mp.sqrt(n * mp.pi),
    t_lower,
    lambda n, x: t_lower(n, -x),
    t_inverse,
    lambda r, p: r.choice(
        (r.gauss(0, 1), both(1e-5, 30)(r), both(1, 1e10)(r) if p[0] < 10 else r.gauss(0, 5))
    ),
    st.t,
)


def f_pdf(m, n, x):
    return beta_pdf(m / 2, n / 2, m * x / (m * x + n), n / (m * x + n)) * m * n / (m * x + n) ** 2


def f_tail(m, n, x, upper):
    return beta_tail(m / 2, n / 2, m * x / (m * x + n), n / (m * x + n), upper)


distribution(
    "FDist",
    [DEGREES, DEGREES],
    "FDist(a, b)",
    f_pdf,
    lambda m, n, x: f_tail(m, n, x, False),
    lambda m, n, x: f_tail(m, n, x, True),
    lambda m, n, p, x: solved(lambda y, up: f_tail(m, n, y, up), p, x),
    lambda r, p: r.choice(
        (
            math.exp(r.gauss(0, 1)),
            math.exp(r.gauss(0, 1) * math.sqrt(2 / p[0] + 2 / p[1])),
            log_uniform(1e-20, 1e20)(r) if max(p) < 50 else 1.2,
        )
    ),
    st.f,
)
distribution(
    "LogNormal",
    [uniform(-2, 2), log_uniform(0.3, 5)],
    "LogNormal(a, b)",
    lambda m, s, x: mp.npdf((mp.log(x) - m) / s) / (s * x),
    lambda m, s, x: ncdf((mp.log(x) - m) / s),
    lambda m, s, x: ncdf((m - mp.log(x)) / s),
    lambda m, s, p, x: mp.exp(m + s * nquantile(p)),
    lambda r, p: math.exp(p[0] + p[1] * wide(1)(r)),
    lambda m, s: st.lognorm(s, 0, np.exp(m)),
)
distribution(
    "Weibull",
    [log_uniform(0.2, 20), log_uniform(0.1, 10)],
    "Weibull(a, b)",
    lambda k, s, x: k / s * (x / s) ** (k - 1) * mp.exp(-((x / s) ** k)),
    lambda k, s, x: -mp.expm1(-((x / s) ** k)),
    lambda k, s, x: mp.exp(-((x / s) ** k)),
    lambda k, s, p, x: s * (-mp.log1p(-p)) ** (1 / k),
    lambda r, p: p[1] * log_uniform(1e-50, 500)(r) ** (1 / p[0]),
    lambda k, s: st.weibull_min(k, 0, s),
)
distribution(
    "Cauchy",
    [uniform(-3, 3), log_uniform(0.1, 10)],
    "Cauchy(a, b)",
    lambda m, s, x: 1 / (mp.pi * s * (1 + ((x - m) / s) ** 2)),
    lambda m, s, x: mp.atan2(1, (m - x) / s) / mp.pi,
    lambda m, s, x: mp.atan2(1, (x - m) / s) / mp.pi,
    lambda m, s, p, x: m - s * mp.cot(mp.pi * p),
    lambda r, p: p[0] + p[1] * both(1e-3, 1e100)(r),
    lambda m, s: st.cauchy(m, s),
)
distribution(
    "Laplace",
    [uniform(-3, 3), log_uniform(0.1, 10)],
    "Laplace(a, b)",
    lambda m, s, x: mp.exp(-abs(x - m) / s) / (2 * s),
    lambda m, s, x: mp.exp((x - m) / s) / 2 if x < m else 1 - mp.exp((m - x) / s) / 2,
    lambda m, s, x: mp.exp((m - x) / s) / 2 if x > m else 1 - mp.exp((x - m) / s) / 2,
    lambda m, s, p, x: m + s * (mp.log(2 * p) if p < 0.5 else -mp.log(2 * (1 - p))),
    lambda r, p: p[0] + p[1] * both(1e-3, 600)(r),
    lambda m, s: st.laplace(m, s),
)
distribution(
    "Logistic",
    [uniform(-3, 3), log_uniform(0.1, 10)],
    "Logistic(a, b)",
    lambda m, s, x: mp.exp(-(x - m) / s) / (s * (1 + mp.exp(-(x - m) / s)) ** 2),
    lambda m, s, x: 1 / (1 + mp.exp((m - x) / s)),
    lambda m, s, x: 1 / (1 + mp.exp((x - m) / s)),
    lambda m, s, p, x: m + s * mp.log(p / (1 - p)),
    lambda r, p: p[0] + p[1] * both(1e-3, 600)(r),
    lambda m, s: st.logistic(m, s),
)
distribution(
    "Gumbel",
    [uniform(-3, 3), log_uniform(0.1, 10)],
    "Gumbel(a, b)",
    lambda m, s, x: mp.exp((m - x) / s - mp.exp((m - x) / s)) / s,
    lambda m, s, x: mp.exp(-mp.exp((m - x) / s)),
    lambda m, s, x: -mp.expm1(-mp.exp((m - x) / s)),
    lambda m, s, p, x: m - s * mp.log(-mp.log(p)),
    lambda r, p: p[0] + p[1] * r.choice((r.uniform(-6, 0), log_uniform(1e-3, 600)(r))),
    lambda m, s: st.gumbel_r(m, s),
)
distribution(
    "Pareto",
    [log_uniform(0.1, 50), log_uniform(0.1, 10)],
    "Pareto(a, b)",
    lambda k, s, x: k * s**k / x ** (k + 1),
    lambda k, s, x: -mp.expm1(k * mp.log(s / x)),
    lambda k, s, x: (s / x) ** k,
    lambda k, s, p, x: s * mp.exp(-mp.log1p(-p) / k),
    lambda r, p: p[1] * (1 + log_uniform(1e-10, 1e5)(r)),
    lambda k, s: st.pareto(k, 0, s),
)
RATE = any_of(log_uniform(1e-10, 1), log_uniform(0.3, 100), log_uniform(10, 1e5))
distribution(
    "Poisson",
    [RATE],
    "Poisson(a)",
    lambda m, k: mp.exp(k * mp.log(m) - m - mp.loggamma(k + 1)),
    lambda m, k: gamma_tail(k + 1, m, True),
    lambda m, k: gamma_tail(k + 1, m, False),
    None,
    lambda r, p: float(
        int(
            abs(
                p[0]
                + math.sqrt(p[0]) * r.choice((r.gauss(0, 1), r.uniform(-5, 20)))
                + r.randint(0, 3)
            )
        )
    ),
    st.poisson,
    True,
)
TRIALS, CHANCE = whole(1, 1e6), any_of(
    uniform(0, 1), log_uniform(1e-10, 0.1), lambda r: 1 - log_uniform(1e-8, 0.1)(r)
)


def trials_cut(r, p):
    mean, spread = p[0] * p[1], math.sqrt(p[0] * p[1] * (1 - p[1]))
    return float(
        min(
            p[0],
            max(
                0,
                int(
                    mean + spread * r.choice((r.gauss(0, 1), r.uniform(-15, 15))) + r.randint(0, 2)
                ),
            ),
        )
    )


distribution(
    "Binomial",
    [TRIALS, CHANCE],
    "Binomial(a, b)",
    lambda n, p, k: mp.exp(
        mp.loggamma(n + 1)
        - mp.loggamma(k + 1)
        - mp.loggamma(n - k + 1)
        + k * mp.log(p)
        + (n - k) * mp.log1p(-p)
    ),
    lambda n, p, k: beta_tail(n - k, k + 1, 1 - p, p, False) if k < n else mp.mpf(1),
    lambda n, p, k: beta_tail(n - k, k + 1, 1 - p, p, True) if k < n else mp.mpf(0),
    None,
    trials_cut,
    st.binom,
    True,
)
distribution(
    "NegativeBinomial",
    [
        any_of(whole(1, 100), log_uniform(0.01, 100)),
        any_of(uniform(0.01, 1), log_uniform(1e-4, 0.1)),
    ],
    "NegativeBinomial(a, b)",
    lambda n, p, k: mp.exp(
        mp.loggamma(k + n) - mp.loggamma(k + 1) - mp.loggamma(n) + n * mp.log(p) + k * mp.log1p(-p)
    ),
    lambda n, p, k: beta_tail(n, k + 1, p, 1 - p, False),
    lambda n, p, k: beta_tail(n, k + 1, p, 1 - p, True),
    None,
    lambda r, p: float(int(p[0] * (1 - p[1]) / p[1] * math.exp(r.gauss(0, 1.5)))),
    st.nbinom,
    True,
)
distribution(
    "Geometric",
    [any_of(uniform(0.01, 1), log_uniform(1e-6, 0.1))],
    "Geometric(a)",
    lambda p, k: p * mp.exp(k * mp.log1p(-p)),
    lambda p, k: -mp.expm1((k + 1) * mp.log1p(-p)),
    lambda p, k: mp.exp((k + 1) * mp.log1p(-p)),
    None,
    lambda r, p: float(int(log_uniform(1, 300)(r) / p[0])),
    lambda p: st.geom(p, -1),
    True,
)
distribution(
    "Bernoulli",
    [CHANCE],
    "Bernoulli(a)",
    lambda p, k: p if k == 1 else 1 - p,
    lambda p, k: 1 - p if k < 1 else mp.mpf(1),
    lambda p, k: p if k < 1 else mp.mpf(0),
    None,
    lambda r, p: float(r.randint(0, 1)),
    st.bernoulli,
    True,
)
