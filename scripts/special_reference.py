#!/usr/bin/env python3
"""special_reference.py - writes tests/library/_special_reference.dsl: values of special functions and distributions over their whole ranges.

Use: scripts/special_reference.py [NAME...]     functions with these words in their names, all when there are none
     --seed N --times K --out FILE              other points, K times as many, into another file: a search for worse ones

Needs mpmath and SciPy, which nothing else of the tests does; some minutes. A file of --out is read by `error_of` of
tests/library/_special_table.dsl as the table's own is.

Each function has points drawn with a fixed seed over its whole domain: extremes, both signs, tails, nearly whole orders. The value at a point
comes from mpmath with 40 digits and is kept when 70 digits confirm it to 25; points whose value is not finite, or is beyond 1e300 or below
1e-290, are left out (tests/library/special_ends.dsl has those). Beside the value stands the condition: how many times its relative change an
argument's relative change is. The error of SciPy at the same points is measured here, that of Atled by tests/library/special_table.dsl.
"""
import argparse
import math
import multiprocessing
import os
import random
import signal
import sys

import mpmath as mp
import numpy as np
import scipy
import scipy.special as sc
import scipy.stats as st

POINTS = 32
OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "library", "_special_reference.dsl")
mp.mp.dps = 40
ROWS = []  # (group, name, Atled's function, mpmath's, SciPy's or None, draw)


class TooSlow(Exception):
    pass


def alarm(_signal, _frame):
    raise TooSlow


signal.signal(signal.SIGALRM, alarm)

# ---- how arguments are drawn


def log_uniform(low, high):
    return lambda r: math.exp(r.uniform(math.log(low), math.log(high)))


def both(low, high):
    draw = log_uniform(low, high)
    return lambda r: draw(r) * r.choice((-1, 1))


def uniform(low, high):
    return lambda r: r.uniform(low, high)


def whole(low, high):
    return lambda r: float(int(round(math.exp(r.uniform(math.log(low + 1), math.log(high + 1)))) - 1))


def any_of(*draws):
    return lambda r: r.choice(draws)(r)


def unit(r):
    """0 .. 1, with both ends from close by"""
    kind = r.random()
    if kind < 0.3:
        return log_uniform(1e-250, 1e-2)(r)
    if kind < 0.5:
        return 1 - log_uniform(1e-15, 1e-2)(r)
    return r.uniform(0, 1)


def nearly_whole(low, high):
    return lambda r: float(r.randint(low, high)) + r.choice((0.0, 0.01, -0.01, 1e-5, -1e-8, 1e-12, 0.5, r.uniform(0, 1)))


def each(*draws):
    return lambda r: [d(r) for d in draws]


# ---- values by mpmath


def gamma_tail(a, x, upper):
    """By the series left of a + 1 and the continued fraction right of it."""
    if x <= 0:
        return mp.mpf(1 if upper else 0)
    if a > 1e7:
        return mp.gammainc(a, x, mp.inf, regularized=True) if upper else mp.gammainc(a, 0, x, regularized=True)
    weight = mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1))
    if x < a + 1:
        term = total = mp.mpf(1)
        k = 1
        while term > total * mp.eps / 100:
            term *= x / (a + k)
            total += term
            k += 1
        lower = weight * total
        if upper and lower > 0.5 and x < 2:
            return mp.gammainc(a, x, mp.inf, regularized=True)
        return 1 - lower if upper else lower
    b = x + 1 - a
    f = c = b
    d = mp.mpf(0)
    k = 1
    while True:
        n = -k * (k - a)
        b += 2
        d = 1 / (b + n * d)
        c = b + n / c
        f *= c * d
        if abs(c * d - 1) < mp.eps * 10:
            break
        k += 1
    rest = weight * a / f
    return rest if upper else 1 - rest


def beta_tail(a, b, x, y, upper):
    """I_x(a, b), x + y = 1, or 1 less it; by the continued fraction."""
    if x <= 0 or y <= 0:
        return mp.mpf((x > 0) != upper)
    left = x <= (a + 1) / (a + b + 2)
    p, q, z, rest = (a, b, x, y) if left else (b, a, y, x)
    weight = mp.exp(p * mp.log(z) + q * mp.log(rest) + mp.loggamma(p + q) - mp.loggamma(p + 1) - mp.loggamma(q))
    f = c = mp.mpf(1)
    d = mp.mpf(0)
    m = 0
    while True:
        n = -(p + m) * (p + q + m) * z / ((p + 2 * m) * (p + 2 * m + 1))
        d = 1 / (1 + n * d)
        c = 1 + n / c
        f *= c * d
        n = (m + 1) * (q - m - 1) * z / ((p + 2 * m + 1) * (p + 2 * m + 2))
        d = 1 / (1 + n * d)
        c = 1 + n / c
        f *= c * d
        if abs(c * d - 1) < mp.eps * 10:
            break
        m += 1
    tail = weight / f
    return tail if left != upper else 1 - tail


def solved(tail, p, x):
    """The x > 0 with tail(x, False) = p, near x: Newton's method on logarithms of the smaller tail."""
    upper = p > 0.5
    want = mp.log(1 - p if upper else p)
    u = mp.log(x)
    for _ in range(60):
        h = mp.mpf(10) ** (-mp.mp.dps // 3)
        at = mp.log(tail(mp.exp(u), upper))
        slope = (mp.log(tail(mp.exp(u + h), upper)) - mp.log(tail(mp.exp(u - h), upper))) / (2 * h)
        step = (at - want) / slope
        u -= max(-2, min(2, step))
        if abs(step) < mp.mpf(10) ** (-mp.mp.dps * 2 // 3):
            break
    return mp.exp(u)


def row(group, name, dsl, value, peer, draw, points=POINTS):
    ROWS.append((group, name, dsl, value, peer, draw, points))


# ---- elementary functions

REAL = both(1e-200, 1e200)
SMALL = any_of(both(1e-200, 1), both(0.5, 700))
for name, value, draw in (
    ("sqrt", mp.sqrt, log_uniform(1e-290, 1e290)), ("cbrt", lambda x: mp.sign(x) * mp.cbrt(abs(x)), REAL), ("exp", mp.exp, SMALL),
    ("expm1", lambda x: mp.expm1(x), SMALL), ("log", mp.log, any_of(log_uniform(1e-290, 1e290), uniform(0.9, 1.1))),
    ("log1p", lambda x: mp.log1p(x), any_of(both(1e-200, 0.99), log_uniform(1, 1e200))), ("sin", mp.sin, any_of(both(1e-200, 1), both(1, 1e9))),
    ("cos", mp.cos, any_of(both(1e-200, 1), both(1, 1e9))), ("tan", mp.tan, any_of(both(1e-200, 1), both(1, 1e9))),
    ("asin", mp.asin, both(1e-200, 1)), ("acos", mp.acos, both(1e-20, 1)), ("atan", mp.atan, REAL), ("sinh", mp.sinh, SMALL),
    ("cosh", mp.cosh, SMALL), ("tanh", mp.tanh, SMALL), ("erf", mp.erf, any_of(both(1e-200, 1), both(0.5, 7))), ("asinh", mp.asinh, REAL),
    ("acosh", mp.acosh, lambda r: 1 + log_uniform(1e-15, 1e200)(r)),
    ("atanh", mp.atanh, lambda r: r.choice((1, -1)) * r.choice((unit, lambda q: 1 - log_uniform(1e-15, 1)(q)))(r)),
    ("log2", lambda x: mp.log(x) / mp.log(2), log_uniform(1e-290, 1e290)), ("log10", mp.log10, log_uniform(1e-290, 1e290)),
):
    peer = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "erf": sc.erf, "cbrt": np.cbrt}.get(name)
    row("elementary functions", name, name, value, peer or getattr(np, name), each(draw))
row("elementary functions", "sech", "sech", mp.sech, None, each(SMALL))
row("elementary functions", "sigmoid", "sigmoid", lambda x: 1 / (1 + mp.exp(-x)), sc.expit, each(SMALL))
row("elementary functions", "softplus", "softplus", lambda x: mp.log1p(mp.exp(x)), lambda x: np.logaddexp(0, x), each(SMALL))
row("elementary functions", "atan2", "atan2", mp.atan2, np.arctan2, each(REAL, REAL))
row("elementary functions", "pow", "(x, p) -> x^p", lambda x, p: mp.power(x, p), np.power, each(log_uniform(1e-30, 1e30), both(1e-3, 10)))

PART = any_of(both(1e-100, 1), both(0.1, 10), both(1, 1e100))
CIRCLE = any_of(both(1e-100, 1), both(0.1, 10))
for name in ("sqrt", "log", "exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "log1p", "expm1"):
    value = {"log1p": lambda z: mp.log(1 + z), "expm1": lambda z: mp.exp(z) - 1}.get(name) or getattr(mp, name)
    peer = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "log1p": sc.log1p, "expm1": sc.expm1}.get(name) or getattr(np, name)
    draw = each(PART, PART) if name in ("sqrt", "log", "asin", "acos", "atan", "asinh", "acosh", "atanh", "log1p") else each(CIRCLE, CIRCLE)
    row("elementary functions of complex numbers", f"{name} of x + iy", f"(x, y) -> {name}(x + 1im * y)",
        lambda x, y, f=value: extended(f, mp.mpc(x, y)), lambda x, y, f=peer: f(np.asarray(x) + 1j * np.asarray(y)), draw)


def extended(f, z):
    """In so many digits that neither part is lost beside the other."""
    with mp.workdps(mp.mp.dps + 420):
        return f(z)


# ---- the gamma function and its family

G = "the gamma function and its family"
POSITIVE = any_of(log_uniform(1e-100, 1), log_uniform(0.1, 100), log_uniform(1, 1e10))
row(G, "gamma", "gamma", mp.gamma, sc.gamma, each(any_of(both(1e-100, 1), uniform(0.5, 170), lambda r: -r.uniform(0, 150))))
row(G, "lgamma", "lgamma", lambda x: mp.log(abs(mp.gamma(x))), sc.gammaln, each(any_of(both(1e-100, 1), log_uniform(0.5, 1e6), lambda r: -r.uniform(0, 100))))
row(G, "digamma", "digamma", mp.digamma, sc.digamma, each(any_of(POSITIVE, both(1e-100, 1), lambda r: -r.uniform(0, 100))))
row(G, "polygamma", "polygamma", lambda n, x: mp.polygamma(int(n), x), lambda n, x: sc.polygamma(n.astype(int), x), each(whole(1, 8), any_of(log_uniform(1e-10, 100), log_uniform(1, 1e10))))
row(G, "beta", "beta", mp.beta, sc.beta, each(log_uniform(1e-10, 1e4), log_uniform(1e-10, 1e4)))
row(G, "lbeta", "lbeta", lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b), sc.betaln, each(log_uniform(1e-10, 1e10), log_uniform(1e-10, 1e10)))
row(G, "factorial", "factorial", mp.factorial, sc.factorial, each(any_of(whole(0, 170), uniform(0, 170))))
row(G, "binomial", "binomial", mp.binomial, sc.binom, each(whole(0, 1000), whole(0, 1000)))
SHAPE = any_of(log_uniform(1e-8, 1), log_uniform(0.3, 100), log_uniform(10, 1e5))


def near_shape(r):
    a = SHAPE(r)
    return [a, abs(r.choice((a * math.exp(r.gauss(0, 1)), a + math.sqrt(a) * r.gauss(0, 2), a + math.sqrt(a) * r.uniform(5, 25), log_uniform(1e-100, 1)(r)))) or 1.0]


row(G, "gammainc", "gammainc", lambda a, x: gamma_tail(a, x, False), sc.gammainc, near_shape)
row(G, "gammaincc", "gammaincc", lambda a, x: gamma_tail(a, x, True), sc.gammaincc, near_shape)


def shape_level(r):
    while True:
        a, x = near_shape(r)
        p = float(gamma_tail(mp.mpf(a), mp.mpf(x), False))
        if 1e-280 < p < 1:
            return [a, p, x]


row(G, "gammaincinv", "(a, p, x) -> gammaincinv(a, p)", lambda a, p, x: solved(lambda y, up: gamma_tail(a, y, up), p, x), lambda a, p, x: sc.gammaincinv(a, p), shape_level)
row(G, "gamma_lower", "gamma_lower", lambda a, x: gamma_tail(a, x, False) * mp.gamma(a), None, each(log_uniform(1e-3, 100), log_uniform(1e-3, 300)))
row(G, "gamma_upper", "gamma_upper", lambda a, x: mp.gammainc(a, x), None, each(any_of(both(1e-12, 1), uniform(-30, 30), nearly_whole(-20, 3)), log_uniform(1e-3, 300)))


def beta_point(r):
    a, b = SHAPE(r), SHAPE(r)
    mean = a / (a + b)
    spread = math.sqrt(mean * (1 - mean) / (a + b + 1))
    x = r.choice((unit(r), mean + spread * r.gauss(0, 2), mean + spread * r.uniform(-20, 20)))
    return [a, b, x if 0 < x < 1 else r.uniform(0, 1)]


row(G, "betainc", "betainc", lambda a, b, x: beta_tail(a, b, x, 1 - x, False), sc.betainc, beta_point)


def beta_level(r):
    while True:
        a, b, x = beta_point(r)
        p = float(beta_tail(mp.mpf(a), mp.mpf(b), mp.mpf(x), 1 - mp.mpf(x), False))
        if 1e-280 < p < 1 and x < 0.999:
            return [a, b, p, x]


row(G, "betaincinv", "(a, b, p, x) -> betaincinv(a, b, p)", lambda a, b, p, x: solved(lambda y, up: beta_tail(a, b, y, 1 - y, up), p, x), lambda a, b, p, x: sc.betaincinv(a, b, p), beta_level)

# ---- the error function and its family

E = "the error function and integrals like it"
row(E, "erfc", "erfc", mp.erfc, sc.erfc, each(any_of(both(1e-100, 1), uniform(-6, 26))))
row(E, "erfcx", "erfcx", lambda x: mp.exp(x * x) * mp.erfc(x), sc.erfcx, each(any_of(both(1e-100, 1), uniform(-26, 26), log_uniform(10, 1e200))))
row(E, "erfinv", "erfinv", lambda p: mp.erfinv(p), sc.erfinv, each(lambda r: unit(r) * r.choice((1, -1))))


def erfcinv(q):
    if q > 0.1:
        return mp.erfinv(1 - q)
    with mp.workdps(mp.mp.dps + 10):
        y = mp.sqrt(-mp.log(q))
        for _ in range(40):
            value = mp.erfc(y)
            step = mp.log(value / q) * value * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
            y += step
            if abs(step) < mp.eps * 100:
                break
        return y


row(E, "erfcinv", "erfcinv", erfcinv, sc.erfcinv, each(lambda r: 2 * unit(r)))
row(E, "dawson", "dawson", lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x) if abs(x) < 60 else x * mp.hyp1f1(1, 1.5, -x * x), sc.dawsn, each(any_of(both(1e-100, 1), both(0.5, 50), both(60, 1e6))))
row(E, "fresnels", "fresnels", mp.fresnels, lambda x: sc.fresnel(x)[0], each(any_of(both(1e-80, 1), both(0.5, 10), both(1, 1e5))))
row(E, "fresnelc", "fresnelc", mp.fresnelc, lambda x: sc.fresnel(x)[1], each(any_of(both(1e-80, 1), both(0.5, 10), both(1, 1e5))))
row(E, "expint, n = 1", "x -> expint(x)", mp.e1, sc.exp1, each(any_of(log_uniform(1e-100, 1), log_uniform(0.5, 660))))
row(E, "expint, any n", "(n, x) -> expint(x; n = n)", lambda n, x: mp.expint(int(n), x), lambda n, x: sc.expn(n.astype(int), x), each(whole(0, 1000), any_of(log_uniform(1e-100, 1), log_uniform(0.5, 600))))
row(E, "expinti", "expinti", mp.ei, sc.expi, each(any_of(both(1e-100, 1), both(0.3, 650))))
row(E, "sinint", "sinint", mp.si, lambda x: sc.sici(x)[0], each(any_of(both(1e-100, 1), both(0.3, 1e6))))
row(E, "cosint", "cosint", mp.ci, lambda x: sc.sici(x)[1], each(any_of(log_uniform(1e-100, 1), log_uniform(0.3, 1e6))))
row(E, "sinhint", "sinhint", mp.shi, lambda x: sc.shichi(x)[0], each(any_of(both(1e-100, 1), both(0.3, 650))))
row(E, "coshint", "coshint", mp.chi, lambda x: sc.shichi(x)[1], each(any_of(log_uniform(1e-100, 1), log_uniform(0.3, 650))))
row(E, "sinc", "sinc", lambda x: mp.sin(mp.pi * x) / (mp.pi * x), np.sinc, each(any_of(both(1e-100, 1), both(0.3, 1e6))))

# ---- Bessel functions

B = "Bessel and Airy functions"
ORDER = any_of(nearly_whole(0, 30), uniform(0, 150), whole(0, 300))
SIGNED = any_of(ORDER, lambda r: -ORDER(r))
REACH = any_of(log_uniform(1e-10, 2), log_uniform(1, 100), log_uniform(20, 2000))
row(B, "besselj", "besselj", mp.besselj, sc.jv, each(SIGNED, REACH), 60)
row(B, "bessely", "bessely", mp.bessely, sc.yv, each(SIGNED, REACH), 60)
row(B, "besseli", "besseli", mp.besseli, sc.iv, each(SIGNED, any_of(log_uniform(1e-10, 2), log_uniform(1, 600))), 60)
row(B, "besselk", "besselk", mp.besselk, sc.kv, each(SIGNED, any_of(log_uniform(1e-10, 2), log_uniform(1, 600))), 60)
row(B, "besseli, scaled", "(n, x) -> besseli(n, x; scaled = true)", lambda n, x: mp.besseli(n, x) * mp.exp(-x), sc.ive, each(SIGNED, any_of(log_uniform(1e-10, 2), log_uniform(1, 1e4))))
row(B, "besselk, scaled", "(n, x) -> besselk(n, x; scaled = true)", lambda n, x: mp.besselk(n, x) * mp.exp(x), sc.kve, each(SIGNED, any_of(log_uniform(1e-10, 2), log_uniform(1, 1e4))))


def spherical(f, n, x):
    return mp.sqrt(mp.pi / (2 * x)) * f(n + mp.mpf(0.5), x)


L = whole(0, 200)
row(B, "sphericalj", "sphericalj", lambda n, x: spherical(mp.besselj, n, x), lambda n, x: sc.spherical_jn(n.astype(int), x), each(L, REACH))
row(B, "sphericaly", "sphericaly", lambda n, x: spherical(mp.bessely, n, x), lambda n, x: sc.spherical_yn(n.astype(int), x), each(L, REACH))
row(B, "sphericali", "sphericali", lambda n, x: spherical(mp.besseli, n, x), lambda n, x: sc.spherical_in(n.astype(int), x), each(L, any_of(log_uniform(1e-10, 2), log_uniform(1, 650))))
row(B, "sphericalk", "sphericalk", lambda n, x: spherical(mp.besselk, n, x), lambda n, x: sc.spherical_kn(n.astype(int), x), each(L, any_of(log_uniform(1e-10, 2), log_uniform(1, 650))))
AIRY = any_of(both(1e-100, 1), uniform(-50, 90), lambda r: -log_uniform(10, 1e4)(r))
for k, (name, value) in enumerate((("airyai", lambda x: mp.airyai(x)), ("airyaiprime", lambda x: mp.airyai(x, derivative=1)), ("airybi", lambda x: mp.airybi(x)), ("airybiprime", lambda x: mp.airybi(x, derivative=1)))):
    row(B, name, name, value, lambda x, k=k: sc.airy(x)[k], each(AIRY))

# ---- elliptic integrals and functions

K = "elliptic integrals and functions"
PARAMETER = any_of(lambda r: 1 - log_uniform(1e-15, 1)(r), lambda r: -log_uniform(1e-10, 1e10)(r), uniform(0, 1), log_uniform(1e-100, 1e-3))
MODERATE = any_of(lambda r: 1 - log_uniform(1e-10, 1)(r), lambda r: -log_uniform(1e-10, 1e3)(r), uniform(0, 1))
ANGLE = any_of(both(1e-30, 1.5), both(1, 20))
row(K, "ellipk", "ellipk", mp.ellipk, sc.ellipk, each(PARAMETER))
row(K, "ellipe", "ellipe", mp.ellipe, sc.ellipe, each(PARAMETER))
row(K, "ellipf", "ellipf", mp.ellipf, sc.ellipkinc, each(ANGLE, MODERATE))
row(K, "ellipeinc", "ellipeinc", mp.ellipe, sc.ellipeinc, each(ANGLE, MODERATE))
row(K, "ellippi", "ellippi", lambda n, m: mp.ellippi(n, m), None, each(any_of(lambda r: 1 - log_uniform(1e-6, 1)(r), lambda r: -log_uniform(1e-3, 1e3)(r)), MODERATE))
row(K, "ellippiinc", "ellippiinc", lambda n, phi, m: mp.ellippi(n, phi, m), None, each(any_of(lambda r: 1 - log_uniform(1e-3, 1)(r), lambda r: -log_uniform(1e-3, 1e3)(r)), any_of(both(1e-10, 1.5), both(1, 6)), MODERATE))
for k, name in enumerate(("sn", "cn", "dn")):
    row(K, "jacobi" + name, "jacobi" + name, lambda u, m, name=name: mp.ellipfun(name, u, m=m), lambda u, m, k=k: sc.ellipj(u, m)[k], each(any_of(both(1e-30, 1), both(0.5, 15)), any_of(uniform(0, 1), lambda r: 1 - log_uniform(1e-10, 1)(r))))

# ---- hypergeometric functions

H = "hypergeometric functions"
SIZE = any_of(uniform(-5, 5), nearly_whole(-6, 10), uniform(-30, 30))
BELOW = any_of(uniform(0.2, 5), nearly_whole(1, 10), uniform(0.5, 30))
row(H, "hyp0f1", "hyp0f1", mp.hyp0f1, sc.hyp0f1, each(BELOW, any_of(both(1e-10, 1), both(0.5, 1e4))), 60)
row(H, "hyp1f1", "hyp1f1", mp.hyp1f1, sc.hyp1f1, each(SIZE, BELOW, any_of(both(1e-10, 1), both(0.5, 650), lambda r: -log_uniform(100, 1e6)(r))), 60)
row(H, "hypu", "hypu", mp.hyperu, sc.hyperu, each(any_of(uniform(0.1, 8), nearly_whole(1, 6), uniform(-5, 0)), any_of(uniform(-5, 8), nearly_whole(-3, 6)), log_uniform(1e-3, 1e4)), 60)
row(H, "hyp2f1", "hyp2f1", mp.hyp2f1, sc.hyp2f1, each(SIZE, SIZE, BELOW, any_of(unit, uniform(-1, 1), lambda r: -log_uniform(1, 1e8)(r))), 90)


def whole_difference(r):
    a, b = any_of(uniform(-5, 5), nearly_whole(-4, 5))(r), any_of(uniform(-5, 5), nearly_whole(-4, 5))(r)
    c = a + b + r.randint(-3, 4) + r.choice((0.0, 0.0, 1e-3, -1e-6, 1e-10))
    return [a, b, c if c > 0.1 else 1.5, 1 - log_uniform(1e-12, 0.3)(r)]


row(H, "hyp2f1, c - a - b whole", "hyp2f1", mp.hyp2f1, sc.hyp2f1, whole_difference, 60)

# ---- orthogonal polynomials

P = "orthogonal polynomials"
N, INSIDE = whole(0, 100), any_of(uniform(-1, 1), both(1e-30, 1))
row(P, "legendre", "legendre", lambda n, x: mp.legendre(int(n), x), lambda n, x: sc.eval_legendre(n.astype(int), x), each(N, INSIDE))
row(P, "chebyshevt", "chebyshevt", lambda n, x: mp.chebyt(int(n), x), lambda n, x: sc.eval_chebyt(n.astype(int), x), each(N, INSIDE))
row(P, "chebyshevu", "chebyshevu", lambda n, x: mp.chebyu(int(n), x), lambda n, x: sc.eval_chebyu(n.astype(int), x), each(N, INSIDE))
row(P, "hermite", "hermite", lambda n, x: mp.hermite(int(n), x), lambda n, x: sc.eval_hermite(n.astype(int), x), each(N, both(1e-3, 20)))
row(P, "laguerre", "(n, a, x) -> laguerre(n, x; alpha = a)", lambda n, a, x: mp.laguerre(int(n), a, x), lambda n, a, x: sc.eval_genlaguerre(n.astype(int), a, x), each(N, uniform(-0.9, 5), log_uniform(1e-3, 100)))
row(P, "gegenbauer", "gegenbauer", lambda n, a, x: mp.gegenbauer(int(n), a, x), lambda n, a, x: sc.eval_gegenbauer(n.astype(int), a, x), each(N, uniform(0.1, 5), INSIDE))
row(P, "jacobi", "jacobi", lambda n, a, b, x: mp.jacobi(int(n), a, b, x), lambda n, a, b, x: sc.eval_jacobi(n.astype(int), a, b, x), each(N, uniform(-0.9, 5), uniform(-0.9, 5), INSIDE))


def associated(n, m, x):
    """(-1)^m (1 - x^2)^(m/2) d^m P_n / dx^m by Gegenbauer's polynomial."""
    n, m = int(n), int(m)
    return (-1) ** m * mp.fac2(2 * m - 1) * (1 - x * x) ** (mp.mpf(m) / 2) * mp.gegenbauer(n - m, m + mp.mpf(1) / 2, x)


def degree_and_order(r):
    n = r.randint(0, 40)
    return [float(n), float(r.randint(0, n))]


row(P, "assoclegendre", "assoclegendre", associated, None, lambda r: degree_and_order(r) + [INSIDE(r)])

# ---- others

O = "others"
row(O, "zeta", "x -> zeta(x)", mp.zeta, sc.zeta, each(any_of(log_uniform(1e-10, 0.9), log_uniform(1.001, 60), lambda r: 1 + both(1e-10, 1e-2)(r), lambda r: -r.uniform(0, 100))))
row(O, "zeta, of Hurwitz", "(s, a) -> zeta(s; a = a)", lambda s, a: mp.zeta(s, a), sc.zeta, each(any_of(log_uniform(1.001, 60), lambda r: 1 + log_uniform(1e-8, 1e-2)(r)), log_uniform(1e-3, 1e3)))
row(O, "dilog", "dilog", lambda x: mp.re(mp.polylog(2, x)), lambda x: np.where(x <= 1, sc.spence(np.minimum(1 - x, 1e300)), np.nan), each(any_of(both(1e-100, 1), both(0.5, 1e6))))
row(O, "clausen", "clausen", lambda x: mp.clsin(2, x), None, each(any_of(both(1e-30, 1), both(0.5, 30))))
row(O, "lambertw", "x -> lambertw(x)", lambda x: mp.lambertw(x), lambda x: sc.lambertw(x).real, each(any_of(lambda r: -0.36787944117144233 + log_uniform(1e-15, 0.3)(r), both(1e-100, 0.3), log_uniform(0.3, 1e290))))
row(O, "lambertw, lower", "x -> lambertw(x; lower = true)", lambda x: mp.re(mp.lambertw(x, -1)), lambda x: sc.lambertw(x, -1).real, each(any_of(lambda r: -0.36787944117144233 + log_uniform(1e-15, 0.3)(r), lambda r: -log_uniform(1e-290, 0.3)(r))))

# ---- distributions: (parameters, x) -> ... of each kind; `cut` draws x where the distribution has tails


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
    row(group, f"pdf of {family}", f"{head}pdf({dsl}, x)", pdf, peer and (lambda *a: getattr(peer(*a[:-1]), "pmf" if discrete else "pdf")(a[-1])), at)
    row(group, f"logpdf of {family}", f"{head}logpdf({dsl}, x)", lambda *a: mp.log(pdf(*a)), peer and (lambda *a: getattr(peer(*a[:-1]), "logpmf" if discrete else "logpdf")(a[-1])), at)
    row(group, f"cdf of {family}", f"{head}cdf({dsl}, x)", lower, peer and (lambda *a: peer(*a[:-1]).cdf(a[-1])), at)
    row(group, f"ccdf of {family}", f"{head}ccdf({dsl}, x)", upper, peer and (lambda *a: peer(*a[:-1]).sf(a[-1])), at)
    if inverse:
        row(group, f"icdf of {family}", f"({names + ', ' if names else ''}p, x) -> icdf({dsl}, p)", inverse, peer and (lambda *a: peer(*a[:-2]).ppf(a[-2])), level)


def wide(scale):
    """Around 0 and far into both tails."""
    return any_of(lambda r: scale * r.gauss(0, 1), lambda r: scale * r.choice((1, -1)) * log_uniform(1e-3, 30)(r))


def ncdf(z):
    return mp.erfc(-z / mp.sqrt(2)) / 2


def nquantile(p):
    return -mp.sqrt(2) * erfcinv(2 * p)


POS = any_of(log_uniform(1e-100, 1), log_uniform(0.1, 100), log_uniform(1, 1e100))
distribution("Normal", [uniform(-3, 3), log_uniform(0.1, 10)], "Normal(a, b)", lambda m, s, x: mp.npdf((x - m) / s) / s, lambda m, s, x: ncdf((x - m) / s), lambda m, s, x: ncdf((m - x) / s), lambda m, s, p, x: m + s * nquantile(p), lambda r, p: p[0] + p[1] * wide(1)(r), lambda m, s: st.norm(m, s))
distribution("Uniform", [uniform(-3, 0), uniform(0.5, 3)], "Uniform(a, b)", lambda a, b, x: 1 / (b - a), lambda a, b, x: (x - a) / (b - a), lambda a, b, x: (b - x) / (b - a), lambda a, b, p, x: a + (b - a) * p, lambda r, p: r.uniform(p[0], p[1]), lambda a, b: st.uniform(a, b - a))
distribution("Exponential", [log_uniform(0.1, 10)], "Exponential(a)", lambda s, x: mp.exp(-x / s) / s, lambda s, x: -mp.expm1(-x / s), lambda s, x: mp.exp(-x / s), lambda s, p, x: -s * mp.log1p(-p), lambda r, p: p[0] * log_uniform(1e-100, 600)(r), lambda s: st.expon(0, s))


def gamma_pdf(a, s, x):
    return mp.exp((a - 1) * mp.log(x / s) - x / s - mp.loggamma(a)) / s


def gamma_cut(r, a):
    return abs(r.choice((a * math.exp(r.gauss(0, 1)), a + math.sqrt(a) * r.gauss(0, 2), a + math.sqrt(a) * r.uniform(5, 25), a * log_uniform(1e-3, 1)(r)))) or 1.0


distribution("Gamma", [SHAPE, log_uniform(0.1, 10)], "Gamma(a, b)", gamma_pdf, lambda a, s, x: gamma_tail(a, x / s, False), lambda a, s, x: gamma_tail(a, x / s, True), lambda a, s, p, x: s * solved(lambda y, up: gamma_tail(a, y, up), p, x / s), lambda r, p: p[1] * gamma_cut(r, p[0]), lambda a, s: st.gamma(a, 0, s))
distribution("ChiSquared", [any_of(whole(1, 1000), log_uniform(0.1, 100))], "ChiSquared(a)", lambda n, x: gamma_pdf(n / 2, 2, x), lambda n, x: gamma_tail(n / 2, x / 2, False), lambda n, x: gamma_tail(n / 2, x / 2, True), lambda n, p, x: 2 * solved(lambda y, up: gamma_tail(n / 2, y, up), p, x / 2), lambda r, p: 2 * gamma_cut(r, p[0] / 2), st.chi2)


def beta_pdf(a, b, x, y):
    return mp.exp((a - 1) * mp.log(x) + (b - 1) * mp.log(y) + mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b))


def beta_cut(r, p):
    mean = p[0] / (p[0] + p[1])
    spread = math.sqrt(mean * (1 - mean) / (p[0] + p[1] + 1))
    x = r.choice((unit(r), mean + spread * r.gauss(0, 2), mean + spread * r.uniform(-15, 15)))
    return x if 0 < x < 1 else r.uniform(0, 1)


BETA_SHAPE = any_of(log_uniform(1e-3, 1), log_uniform(0.3, 100), log_uniform(10, 1e5))
distribution("Beta", [BETA_SHAPE, BETA_SHAPE], "Beta(a, b)", lambda a, b, x: beta_pdf(a, b, x, 1 - x), lambda a, b, x: beta_tail(a, b, x, 1 - x, False), lambda a, b, x: beta_tail(a, b, x, 1 - x, True), lambda a, b, p, x: solved(lambda y, up: beta_tail(a, b, y, 1 - y, up), p, x), beta_cut, st.beta)


def t_upper(n, x):
    """P(T > x), x >= 0"""
    return beta_tail(n / 2, mp.mpf(1) / 2, n / (n + x * x), x * x / (n + x * x), False) / 2


def t_lower(n, x):
    return t_upper(n, -x) if x < 0 else 1 - t_upper(n, x)


def t_inverse(n, p, x):
    if abs(p - 0.5) < 1e-8:
        return mp.findroot(lambda y: t_lower(n, y) - p, x)
    tail = min(p, 1 - p)
    return mp.sign(p - 0.5) * 1 / solved(lambda y, up: 1 - t_upper(n, 1 / y) if up else t_upper(n, 1 / y), tail, 1 / abs(x))


DEGREES = any_of(log_uniform(0.1, 2), whole(1, 100), log_uniform(1, 1e8))
distribution("StudentT", [DEGREES], "StudentT(a)", lambda n, x: mp.exp(-(n + 1) / 2 * mp.log1p(x * x / n) + mp.loggamma((n + 1) / 2) - mp.loggamma(n / 2)) / mp.sqrt(n * mp.pi), t_lower, lambda n, x: t_lower(n, -x), t_inverse, lambda r, p: r.choice((r.gauss(0, 1), both(1e-5, 30)(r), both(1, 1e10)(r) if p[0] < 10 else r.gauss(0, 5))), st.t)


def f_pdf(m, n, x):
    return beta_pdf(m / 2, n / 2, m * x / (m * x + n), n / (m * x + n)) * m * n / (m * x + n) ** 2


def f_tail(m, n, x, upper):
    return beta_tail(m / 2, n / 2, m * x / (m * x + n), n / (m * x + n), upper)


distribution("FDist", [DEGREES, DEGREES], "FDist(a, b)", f_pdf, lambda m, n, x: f_tail(m, n, x, False), lambda m, n, x: f_tail(m, n, x, True), lambda m, n, p, x: solved(lambda y, up: f_tail(m, n, y, up), p, x), lambda r, p: r.choice((math.exp(r.gauss(0, 1)), math.exp(r.gauss(0, 1) * math.sqrt(2 / p[0] + 2 / p[1])), log_uniform(1e-20, 1e20)(r) if max(p) < 50 else 1.2)), st.f)
distribution("LogNormal", [uniform(-2, 2), log_uniform(0.3, 5)], "LogNormal(a, b)", lambda m, s, x: mp.npdf((mp.log(x) - m) / s) / (s * x), lambda m, s, x: ncdf((mp.log(x) - m) / s), lambda m, s, x: ncdf((m - mp.log(x)) / s), lambda m, s, p, x: mp.exp(m + s * nquantile(p)), lambda r, p: math.exp(p[0] + p[1] * wide(1)(r)), lambda m, s: st.lognorm(s, 0, np.exp(m)))
distribution("Weibull", [log_uniform(0.2, 20), log_uniform(0.1, 10)], "Weibull(a, b)", lambda k, s, x: k / s * (x / s) ** (k - 1) * mp.exp(-((x / s) ** k)), lambda k, s, x: -mp.expm1(-((x / s) ** k)), lambda k, s, x: mp.exp(-((x / s) ** k)), lambda k, s, p, x: s * (-mp.log1p(-p)) ** (1 / k), lambda r, p: p[1] * log_uniform(1e-50, 500)(r) ** (1 / p[0]), lambda k, s: st.weibull_min(k, 0, s))
distribution("Cauchy", [uniform(-3, 3), log_uniform(0.1, 10)], "Cauchy(a, b)", lambda m, s, x: 1 / (mp.pi * s * (1 + ((x - m) / s) ** 2)), lambda m, s, x: mp.atan2(1, (m - x) / s) / mp.pi, lambda m, s, x: mp.atan2(1, (x - m) / s) / mp.pi, lambda m, s, p, x: m - s * mp.cot(mp.pi * p), lambda r, p: p[0] + p[1] * both(1e-3, 1e100)(r), lambda m, s: st.cauchy(m, s))
distribution("Laplace", [uniform(-3, 3), log_uniform(0.1, 10)], "Laplace(a, b)", lambda m, s, x: mp.exp(-abs(x - m) / s) / (2 * s), lambda m, s, x: mp.exp((x - m) / s) / 2 if x < m else 1 - mp.exp((m - x) / s) / 2, lambda m, s, x: mp.exp((m - x) / s) / 2 if x > m else 1 - mp.exp((x - m) / s) / 2, lambda m, s, p, x: m + s * (mp.log(2 * p) if p < 0.5 else -mp.log(2 * (1 - p))), lambda r, p: p[0] + p[1] * both(1e-3, 600)(r), lambda m, s: st.laplace(m, s))
distribution("Logistic", [uniform(-3, 3), log_uniform(0.1, 10)], "Logistic(a, b)", lambda m, s, x: mp.exp(-(x - m) / s) / (s * (1 + mp.exp(-(x - m) / s)) ** 2), lambda m, s, x: 1 / (1 + mp.exp((m - x) / s)), lambda m, s, x: 1 / (1 + mp.exp((x - m) / s)), lambda m, s, p, x: m + s * mp.log(p / (1 - p)), lambda r, p: p[0] + p[1] * both(1e-3, 600)(r), lambda m, s: st.logistic(m, s))
distribution("Gumbel", [uniform(-3, 3), log_uniform(0.1, 10)], "Gumbel(a, b)", lambda m, s, x: mp.exp((m - x) / s - mp.exp((m - x) / s)) / s, lambda m, s, x: mp.exp(-mp.exp((m - x) / s)), lambda m, s, x: -mp.expm1(-mp.exp((m - x) / s)), lambda m, s, p, x: m - s * mp.log(-mp.log(p)), lambda r, p: p[0] + p[1] * r.choice((r.uniform(-6, 0), log_uniform(1e-3, 600)(r))), lambda m, s: st.gumbel_r(m, s))
distribution("Pareto", [log_uniform(0.1, 50), log_uniform(0.1, 10)], "Pareto(a, b)", lambda k, s, x: k * s**k / x ** (k + 1), lambda k, s, x: -mp.expm1(k * mp.log(s / x)), lambda k, s, x: (s / x) ** k, lambda k, s, p, x: s * mp.exp(-mp.log1p(-p) / k), lambda r, p: p[1] * (1 + log_uniform(1e-10, 1e5)(r)), lambda k, s: st.pareto(k, 0, s))
RATE = any_of(log_uniform(1e-10, 1), log_uniform(0.3, 100), log_uniform(10, 1e5))
distribution("Poisson", [RATE], "Poisson(a)", lambda m, k: mp.exp(k * mp.log(m) - m - mp.loggamma(k + 1)), lambda m, k: gamma_tail(k + 1, m, True), lambda m, k: gamma_tail(k + 1, m, False), None, lambda r, p: float(int(abs(p[0] + math.sqrt(p[0]) * r.choice((r.gauss(0, 1), r.uniform(-5, 20))) + r.randint(0, 3)))), st.poisson, True)
TRIALS, CHANCE = whole(1, 1e6), any_of(uniform(0, 1), log_uniform(1e-10, 0.1), lambda r: 1 - log_uniform(1e-8, 0.1)(r))


def trials_cut(r, p):
    mean, spread = p[0] * p[1], math.sqrt(p[0] * p[1] * (1 - p[1]))
    return float(min(p[0], max(0, int(mean + spread * r.choice((r.gauss(0, 1), r.uniform(-15, 15))) + r.randint(0, 2)))))


distribution("Binomial", [TRIALS, CHANCE], "Binomial(a, b)", lambda n, p, k: mp.exp(mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1) + k * mp.log(p) + (n - k) * mp.log1p(-p)), lambda n, p, k: beta_tail(n - k, k + 1, 1 - p, p, False) if k < n else mp.mpf(1), lambda n, p, k: beta_tail(n - k, k + 1, 1 - p, p, True) if k < n else mp.mpf(0), None, trials_cut, st.binom, True)
distribution("NegativeBinomial", [any_of(whole(1, 100), log_uniform(0.01, 100)), any_of(uniform(0.01, 1), log_uniform(1e-4, 0.1))], "NegativeBinomial(a, b)", lambda n, p, k: mp.exp(mp.loggamma(k + n) - mp.loggamma(k + 1) - mp.loggamma(n) + n * mp.log(p) + k * mp.log1p(-p)), lambda n, p, k: beta_tail(n, k + 1, p, 1 - p, False), lambda n, p, k: beta_tail(n, k + 1, p, 1 - p, True), None, lambda r, p: float(int(p[0] * (1 - p[1]) / p[1] * math.exp(r.gauss(0, 1.5)))), st.nbinom, True)
distribution("Geometric", [any_of(uniform(0.01, 1), log_uniform(1e-6, 0.1))], "Geometric(a)", lambda p, k: p * mp.exp(k * mp.log1p(-p)), lambda p, k: -mp.expm1((k + 1) * mp.log1p(-p)), lambda p, k: mp.exp((k + 1) * mp.log1p(-p)), None, lambda r, p: float(int(log_uniform(1, 300)(r) / p[0])), lambda p: st.geom(p, -1), True)
distribution("Bernoulli", [CHANCE], "Bernoulli(a)", lambda p, k: p if k == 1 else 1 - p, lambda p, k: 1 - p if k < 1 else mp.mpf(1), lambda p, k: p if k < 1 else mp.mpf(0), None, lambda r, p: float(r.randint(0, 1)), st.bernoulli, True)

# ---- measuring and writing


def safely(value, args):
    """mpmath's value, or nothing where it is not sure within its time."""
    try:
        signal.setitimer(signal.ITIMER_REAL, 2)
        first = value(*map(mp.mpf, args))
        with mp.workdps(70):
            second = value(*map(mp.mpf, args))
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Exception: # pylint: disable=broad-except; mpmath gives up in many ways
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if isinstance(first, mp.mpc) and first.imag == 0:
        first, second = first.real, mp.re(second)
    if not mp.isfinite(second) or not 1e-290 < abs(second) < 1e300 or abs(first - second) > abs(second) * mp.mpf(10) ** -25:
        return None
    return second


def condition(value, args, at):
    """The sum over the arguments that are not whole of |x f_x / f|, by differences."""
    total = 0
    for k, x in enumerate(args):
        if x == int(x) and abs(x) < 1e7:
            continue
        moved = list(map(mp.mpf, args))
        moved[k] *= 1 + mp.mpf(10) ** -14
        try:
            signal.setitimer(signal.ITIMER_REAL, 2)
            total += float(abs(value(*moved) - at) / abs(at) * mp.mpf(10) ** 14)
        except Exception: # pylint: disable=broad-except
            pass
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return total


def error(got, want, allowance):
    got = complex(got)
    if not (math.isfinite(got.real) and math.isfinite(got.imag)):
        return math.inf
    want = complex(want)
    return abs(got - want) / abs(want) / allowance


def number(x):
    return repr(float(x))


def literal(x):
    if isinstance(x, mp.mpc):
        im = float(x.imag)
        return f"{number(x.real)} {'-' if im < 0 or 1 / im < 0 else '+'} {number(abs(im))}im" if im else f"{number(x.real)} + 0im"
    return number(x)


def measure(job):
    k, seed, times = job
    group, name, dsl, value, peer, draw, points = ROWS[k]
    r = random.Random(seed + k)
    points *= times
    found, tried = [], 0
    while len(found) < points and tried < 6 * points:
        tried += 1
        args = draw(r)
        y = safely(value, args)
        if y is not None:
            found.append((args, y, condition(value, args, y)))
    worst = None
    if peer and found:
        columns = [np.array(c) for c in zip(*(f[0] for f in found))]
        with np.errstate(all="ignore"):
            got = np.atleast_1d(peer(*columns))
        worst = max(error(g, f[1], max(1, f[2] / 1000)) for g, f in zip(got, found))
    return name, dsl, group, found, worst


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("names", nargs="*")
    options.add_argument("--seed", type=int, default=20)
    options.add_argument("--times", type=int, default=1)
    options.add_argument("--out", default=OUT)
    given = options.parse_args()
    names = given.names
    with open(given.out, "w", encoding="utf-8") as out:
        out.write(f"""# _special_reference.dsl - made by scripts/special_reference.py: functions, arguments, values of mpmath, conditions, and the worst error of SciPy.
#
# mpmath {mp.__version__}, SciPy {scipy.__version__}. `x` has an array for each argument; `scipy` is inf where SciPy gives NaN or an infinity, and -1 where it has no such function.

""")
        keys = []
        wanted = [k for k in range(len(ROWS)) if not names or any(n in ROWS[k][1] for n in names)]
        for name, dsl, group, found, worst in multiprocessing.Pool(2).imap(measure, [(k, given.seed, given.times) for k in wanted]):
            print(f"{name}: {len(found)} points, SciPy {worst}", file=sys.stderr, flush=True)
            if not found:
                continue
            peer = "-1.0" if worst is None else "1 / 0.0" if math.isinf(worst) else f"{worst:.2g}"
            keys.append(f"row_{len(keys)}")
            columns = ", ".join("[" + ", ".join(number(a) for a in column) + "]" for column in zip(*(f[0] for f in found)))
            comma = "," if len(found[0][0]) == 1 else ""
            out.write(f'{keys[-1]} = (group = "{group}", name = "{name}", f = {dsl}, scipy = {peer}, x = ({columns}{comma}),\n')
            out.write(f"  y = [{', '.join(literal(f[1]) for f in found)}],\n  condition = [{', '.join(f'{f[2]:.3g}' if f[2] >= 1000 else '1.0' for f in found)}])\n")
        out.write("rows = (" + ", ".join(keys) + ")\n")


main()
