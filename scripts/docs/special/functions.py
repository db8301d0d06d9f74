"""functions.py - rows of the special functions."""

import math

import mpmath as mp
import numpy as np
import scipy.special as sc
from values import (
    any_of,
    both,
    each,
    erfcinv,
    extended,
    gamma_tail,
    beta_tail,
    log_uniform,
    nearly_whole,
    row,
    SHAPE,
    solved,
    uniform,
    unit,
    whole,
)

# ---- elementary functions

REAL = both(1e-200, 1e200)
SMALL = any_of(both(1e-200, 1), both(0.5, 700))
for name, value, draw in (
    ("sqrt", mp.sqrt, log_uniform(1e-290, 1e290)),
    ("cbrt", lambda x: mp.sign(x) * mp.cbrt(abs(x)), REAL),
    ("exp", mp.exp, SMALL),
    ("expm1", lambda x: mp.expm1(x), SMALL),
    ("log", mp.log, any_of(log_uniform(1e-290, 1e290), uniform(0.9, 1.1))),
    ("log1p", lambda x: mp.log1p(x), any_of(both(1e-200, 0.99), log_uniform(1, 1e200))),
    ("sin", mp.sin, any_of(both(1e-200, 1), both(1, 1e9))),
    ("cos", mp.cos, any_of(both(1e-200, 1), both(1, 1e9))),
    ("tan", mp.tan, any_of(both(1e-200, 1), both(1, 1e9))),
    ("asin", mp.asin, both(1e-200, 1)),
    ("acos", mp.acos, both(1e-20, 1)),
    ("atan", mp.atan, REAL),
    ("sinh", mp.sinh, SMALL),
    ("cosh", mp.cosh, SMALL),
    ("tanh", mp.tanh, SMALL),
    ("erf", mp.erf, any_of(both(1e-200, 1), both(0.5, 7))),
    ("asinh", mp.asinh, REAL),
    ("acosh", mp.acosh, lambda r: 1 + log_uniform(1e-15, 1e200)(r)),
    (
        "atanh",
        mp.atanh,
        lambda r: r.choice((1, -1)) * r.choice((unit, lambda q: 1 - log_uniform(1e-15, 1)(q)))(r),
    ),
    ("log2", lambda x: mp.log(x) / mp.log(2), log_uniform(1e-290, 1e290)),
    ("log10", mp.log10, log_uniform(1e-290, 1e290)),
):
    peer = {
        "asin": np.arcsin,
        "acos": np.arccos,
        "atan": np.arctan,
        "asinh": np.arcsinh,
        "acosh": np.arccosh,
        "atanh": np.arctanh,
        "erf": sc.erf,
        "cbrt": np.cbrt,
    }.get(name)
    row("elementary functions", name, name, value, peer or getattr(np, name), each(draw))
row("elementary functions", "sech", "sech", mp.sech, None, each(SMALL))
row(
    "elementary functions",
    "sigmoid",
    "sigmoid",
    lambda x: 1 / (1 + mp.exp(-x)),
    sc.expit,
    each(SMALL),
)
row(
    "elementary functions",
    "softplus",
    "softplus",
    lambda x: mp.log1p(mp.exp(x)),
    lambda x: np.logaddexp(0, x),
    each(SMALL),
)
row("elementary functions", "atan2", "atan2", mp.atan2, np.arctan2, each(REAL, REAL))
row(
    "elementary functions",
    "pow",
    "(x, p) -> x^p",
    lambda x, p: mp.power(x, p),
    np.power,
    each(log_uniform(1e-30, 1e30), both(1e-3, 10)),
)

PART = any_of(both(1e-100, 1), both(0.1, 10), both(1, 1e100))
CIRCLE = any_of(both(1e-100, 1), both(0.1, 10))
for name in (
    "sqrt",
    "log",
    "exp",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "asin",
    "acos",
    "atan",
    "asinh",
    "acosh",
    "atanh",
    "log1p",
    "expm1",
):
    value = {"log1p": lambda z: mp.log(1 + z), "expm1": lambda z: mp.exp(z) - 1}.get(
        name
    ) or getattr(mp, name)
    peer = {
        "asin": np.arcsin,
        "acos": np.arccos,
        "atan": np.arctan,
        "asinh": np.arcsinh,
        "acosh": np.arccosh,
        "atanh": np.arctanh,
        "log1p": sc.log1p,
        "expm1": sc.expm1,
    }.get(name) or getattr(np, name)
    draw = (
        each(PART, PART)
        if name in ("sqrt", "log", "asin", "acos", "atan", "asinh", "acosh", "atanh", "log1p")
        else each(CIRCLE, CIRCLE)
    )
    row(
        "elementary functions of complex numbers",
        f"{name} of x + iy",
        f"(x, y) -> {name}(x + 1im * y)",
        lambda x, y, f=value: extended(f, mp.mpc(x, y)),
        lambda x, y, f=peer: f(np.asarray(x) + 1j * np.asarray(y)),
        draw,
    )


# ---- the gamma function and its family

G = "the gamma function and its family"
POSITIVE = any_of(log_uniform(1e-100, 1), log_uniform(0.1, 100), log_uniform(1, 1e10))
row(
    G,
    "gamma",
    "gamma",
    mp.gamma,
    sc.gamma,
    each(any_of(both(1e-100, 1), uniform(0.5, 170), lambda r: -r.uniform(0, 150))),
)
row(
    G,
    "lgamma",
    "lgamma",
    lambda x: mp.log(abs(mp.gamma(x))),
    sc.gammaln,
    each(any_of(both(1e-100, 1), log_uniform(0.5, 1e6), lambda r: -r.uniform(0, 100))),
)
row(
    G,
    "digamma",
    "digamma",
    mp.digamma,
    sc.digamma,
    each(any_of(POSITIVE, both(1e-100, 1), lambda r: -r.uniform(0, 100))),
)
row(
    G,
    "polygamma",
    "polygamma",
    lambda n, x: mp.polygamma(int(n), x),
    lambda n, x: sc.polygamma(n.astype(int), x),
    each(whole(1, 8), any_of(log_uniform(1e-10, 100), log_uniform(1, 1e10))),
)
row(G, "beta", "beta", mp.beta, sc.beta, each(log_uniform(1e-10, 1e4), log_uniform(1e-10, 1e4)))
row(
    G,
    "lbeta",
    "lbeta",
    lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b),
    sc.betaln,
    each(log_uniform(1e-10, 1e10), log_uniform(1e-10, 1e10)),
)
row(
    G,
    "factorial",
    "factorial",
    mp.factorial,
    sc.factorial,
    each(any_of(whole(0, 170), uniform(0, 170))),
)
row(G, "binomial", "binomial", mp.binomial, sc.binom, each(whole(0, 1000), whole(0, 1000)))


def near_shape(r):
    a = SHAPE(r)
    return [
        a,
        abs(
            r.choice(
                (
                    a * math.exp(r.gauss(0, 1)),
                    a + math.sqrt(a) * r.gauss(0, 2),
                    a + math.sqrt(a) * r.uniform(5, 25),
                    log_uniform(1e-100, 1)(r),
                )
            )
        )
        or 1.0,
    ]


row(G, "gammainc", "gammainc", lambda a, x: gamma_tail(a, x, False), sc.gammainc, near_shape)
row(G, "gammaincc", "gammaincc", lambda a, x: gamma_tail(a, x, True), sc.gammaincc, near_shape)


def shape_level(r):
    while True:
        a, x = near_shape(r)
        p = float(gamma_tail(mp.mpf(a), mp.mpf(x), False))
        if 1e-280 < p < 1:
            return [a, p, x]


row(
    G,
    "gammaincinv",
    "(a, p, x) -> gammaincinv(a, p)",
    lambda a, p, x: solved(lambda y, up: gamma_tail(a, y, up), p, x),
    lambda a, p, x: sc.gammaincinv(a, p),
    shape_level,
)
row(
    G,
    "gamma_lower",
    "gamma_lower",
    lambda a, x: gamma_tail(a, x, False) * mp.gamma(a),
    None,
    each(log_uniform(1e-3, 100), log_uniform(1e-3, 300)),
)
row(
    G,
    "gamma_upper",
    "gamma_upper",
    lambda a, x: mp.gammainc(a, x),
    None,
    each(any_of(both(1e-12, 1), uniform(-30, 30), nearly_whole(-20, 3)), log_uniform(1e-3, 300)),
)


def beta_point(r):
    a, b = SHAPE(r), SHAPE(r)
    mean = a / (a + b)
    spread = math.sqrt(mean * (1 - mean) / (a + b + 1))
    x = r.choice((unit(r), mean + spread * r.gauss(0, 2), mean + spread * r.uniform(-20, 20)))
    return [a, b, x if 0 < x < 1 else r.uniform(0, 1)]


row(
    G,
    "betainc",
    "betainc",
    lambda a, b, x: beta_tail(a, b, x, 1 - x, False),
    sc.betainc,
    beta_point,
)


def beta_level(r):
    while True:
        a, b, x = beta_point(r)
        p = float(beta_tail(mp.mpf(a), mp.mpf(b), mp.mpf(x), 1 - mp.mpf(x), False))
        if 1e-280 < p < 1 and x < 0.999:
            return [a, b, p, x]


row(
    G,
    "betaincinv",
    "(a, b, p, x) -> betaincinv(a, b, p)",
    lambda a, b, p, x: solved(lambda y, up: beta_tail(a, b, y, 1 - y, up), p, x),
    lambda a, b, p, x: sc.betaincinv(a, b, p),
    beta_level,
)

# ---- the error function and its family

E = "the error function and integrals like it"
row(E, "erfc", "erfc", mp.erfc, sc.erfc, each(any_of(both(1e-100, 1), uniform(-6, 26))))
row(
    E,
    "erfcx",
    "erfcx",
    lambda x: mp.exp(x * x) * mp.erfc(x),
    sc.erfcx,
    each(any_of(both(1e-100, 1), uniform(-26, 26), log_uniform(10, 1e200))),
)
row(
    E,
    "erfinv",
    "erfinv",
    lambda p: mp.erfinv(p),
    sc.erfinv,
    each(lambda r: unit(r) * r.choice((1, -1))),
)


row(E, "erfcinv", "erfcinv", erfcinv, sc.erfcinv, each(lambda r: 2 * unit(r)))
row(
    E,
    "dawson",
    "dawson",
    lambda x: (
        mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)
        if abs(x) < 60
        else x * mp.hyp1f1(1, 1.5, -x * x)
    ),
    sc.dawsn,
    each(any_of(both(1e-100, 1), both(0.5, 50), both(60, 1e6))),
)
row(
    E,
    "fresnels",
    "fresnels",
    mp.fresnels,
    lambda x: sc.fresnel(x)[0],
    each(any_of(both(1e-80, 1), both(0.5, 10), both(1, 1e5))),
)
row(
    E,
    "fresnelc",
    "fresnelc",
    mp.fresnelc,
    lambda x: sc.fresnel(x)[1],
    each(any_of(both(1e-80, 1), both(0.5, 10), both(1, 1e5))),
)
row(
    E,
    "expint, n = 1",
    "x -> expint(x)",
    mp.e1,
    sc.exp1,
    each(any_of(log_uniform(1e-100, 1), log_uniform(0.5, 660))),
)
row(
    E,
    "expint, any n",
    "(n, x) -> expint(x; n = n)",
    lambda n, x: mp.expint(int(n), x),
    lambda n, x: sc.expn(n.astype(int), x),
    each(whole(0, 1000), any_of(log_uniform(1e-100, 1), log_uniform(0.5, 600))),
)
row(E, "expinti", "expinti", mp.ei, sc.expi, each(any_of(both(1e-100, 1), both(0.3, 650))))
row(
    E,
    "sinint",
    "sinint",
    mp.si,
    lambda x: sc.sici(x)[0],
    each(any_of(both(1e-100, 1), both(0.3, 1e6))),
)
row(
    E,
    "cosint",
    "cosint",
    mp.ci,
    lambda x: sc.sici(x)[1],
    each(any_of(log_uniform(1e-100, 1), log_uniform(0.3, 1e6))),
)
row(
    E,
    "sinhint",
    "sinhint",
    mp.shi,
    lambda x: sc.shichi(x)[0],
    each(any_of(both(1e-100, 1), both(0.3, 650))),
)
row(
    E,
    "coshint",
    "coshint",
    mp.chi,
    lambda x: sc.shichi(x)[1],
    each(any_of(log_uniform(1e-100, 1), log_uniform(0.3, 650))),
)
row(
    E,
    "sinc",
    "sinc",
    lambda x: mp.sin(mp.pi * x) / (mp.pi * x),
    np.sinc,
    each(any_of(both(1e-100, 1), both(0.3, 1e6))),
)

# ---- Bessel functions

B = "Bessel and Airy functions"
ORDER = any_of(nearly_whole(0, 30), uniform(0, 150), whole(0, 300))
SIGNED = any_of(ORDER, lambda r: -ORDER(r))
REACH = any_of(log_uniform(1e-10, 2), log_uniform(1, 100), log_uniform(20, 2000))
row(B, "besselj", "besselj", mp.besselj, sc.jv, each(SIGNED, REACH), 60)
row(B, "bessely", "bessely", mp.bessely, sc.yv, each(SIGNED, REACH), 60)
row(
    B,
    "besseli",
    "besseli",
    mp.besseli,
    sc.iv,
    each(SIGNED, any_of(log_uniform(1e-10, 2), log_uniform(1, 600))),
    60,
)
row(
    B,
    "besselk",
    "besselk",
    mp.besselk,
    sc.kv,
    each(SIGNED, any_of(log_uniform(1e-10, 2), log_uniform(1, 600))),
    60,
)
row(
    B,
    "besseli, scaled",
    "(n, x) -> besseli(n, x; scaled = true)",
    lambda n, x: mp.besseli(n, x) * mp.exp(-x),
    sc.ive,
    each(SIGNED, any_of(log_uniform(1e-10, 2), log_uniform(1, 1e4))),
)
row(
    B,
    "besselk, scaled",
    "(n, x) -> besselk(n, x; scaled = true)",
    lambda n, x: mp.besselk(n, x) * mp.exp(x),
    sc.kve,
    each(SIGNED, any_of(log_uniform(1e-10, 2), log_uniform(1, 1e4))),
)


def spherical(f, n, x):
    return mp.sqrt(mp.pi / (2 * x)) * f(n + mp.mpf(0.5), x)


L = whole(0, 200)
row(
    B,
    "sphericalj",
    "sphericalj",
    lambda n, x: spherical(mp.besselj, n, x),
    lambda n, x: sc.spherical_jn(n.astype(int), x),
    each(L, REACH),
)
row(
    B,
    "sphericaly",
    "sphericaly",
    lambda n, x: spherical(mp.bessely, n, x),
    lambda n, x: sc.spherical_yn(n.astype(int), x),
    each(L, REACH),
)
row(
    B,
    "sphericali",
    "sphericali",
    lambda n, x: spherical(mp.besseli, n, x),
    lambda n, x: sc.spherical_in(n.astype(int), x),
    each(L, any_of(log_uniform(1e-10, 2), log_uniform(1, 650))),
)
row(
    B,
    "sphericalk",
    "sphericalk",
    lambda n, x: spherical(mp.besselk, n, x),
    lambda n, x: sc.spherical_kn(n.astype(int), x),
    each(L, any_of(log_uniform(1e-10, 2), log_uniform(1, 650))),
)
AIRY = any_of(both(1e-100, 1), uniform(-50, 90), lambda r: -log_uniform(10, 1e4)(r))
for k, (name, value) in enumerate(
    (
        ("airyai", lambda x: mp.airyai(x)),
        ("airyaiprime", lambda x: mp.airyai(x, derivative=1)),
        ("airybi", lambda x: mp.airybi(x)),
        ("airybiprime", lambda x: mp.airybi(x, derivative=1)),
    )
):
    row(B, name, name, value, lambda x, k=k: sc.airy(x)[k], each(AIRY))

# ---- elliptic integrals and functions

K = "elliptic integrals and functions"
PARAMETER = any_of(
    lambda r: 1 - log_uniform(1e-15, 1)(r),
    lambda r: -log_uniform(1e-10, 1e10)(r),
    uniform(0, 1),
    log_uniform(1e-100, 1e-3),
)
MODERATE = any_of(
    lambda r: 1 - log_uniform(1e-10, 1)(r), lambda r: -log_uniform(1e-10, 1e3)(r), uniform(0, 1)
)
ANGLE = any_of(both(1e-30, 1.5), both(1, 20))
row(K, "ellipk", "ellipk", mp.ellipk, sc.ellipk, each(PARAMETER))
row(K, "ellipe", "ellipe", mp.ellipe, sc.ellipe, each(PARAMETER))
row(K, "ellipf", "ellipf", mp.ellipf, sc.ellipkinc, each(ANGLE, MODERATE))
row(K, "ellipeinc", "ellipeinc", mp.ellipe, sc.ellipeinc, each(ANGLE, MODERATE))
row(
    K,
    "ellippi",
    "ellippi",
    lambda n, m: mp.ellippi(n, m),
    None,
    each(
        any_of(lambda r: 1 - log_uniform(1e-6, 1)(r), lambda r: -log_uniform(1e-3, 1e3)(r)),
        MODERATE,
    ),
)
row(
    K,
    "ellippiinc",
    "ellippiinc",
    lambda n, phi, m: mp.ellippi(n, phi, m),
    None,
    each(
        any_of(lambda r: 1 - log_uniform(1e-3, 1)(r), lambda r: -log_uniform(1e-3, 1e3)(r)),
        any_of(both(1e-10, 1.5), both(1, 6)),
        MODERATE,
    ),
)
for k, name in enumerate(("sn", "cn", "dn")):
    row(
        K,
        "jacobi" + name,
        "jacobi" + name,
        lambda u, m, name=name: mp.ellipfun(name, u, m=m),
        lambda u, m, k=k: sc.ellipj(u, m)[k],
        each(
            any_of(both(1e-30, 1), both(0.5, 15)),
            any_of(uniform(0, 1), lambda r: 1 - log_uniform(1e-10, 1)(r)),
        ),
    )

# ---- hypergeometric functions

H = "hypergeometric functions"
SIZE = any_of(uniform(-5, 5), nearly_whole(-6, 10), uniform(-30, 30))
BELOW = any_of(uniform(0.2, 5), nearly_whole(1, 10), uniform(0.5, 30))
row(
    H,
    "hyp0f1",
    "hyp0f1",
    mp.hyp0f1,
    sc.hyp0f1,
    each(BELOW, any_of(both(1e-10, 1), both(0.5, 1e4))),
    60,
)
row(
    H,
    "hyp1f1",
    "hyp1f1",
    mp.hyp1f1,
    sc.hyp1f1,
    each(SIZE, BELOW, any_of(both(1e-10, 1), both(0.5, 650), lambda r: -log_uniform(100, 1e6)(r))),
    60,
)
row(
    H,
    "hypu",
    "hypu",
    mp.hyperu,
    sc.hyperu,
    each(
        any_of(uniform(0.1, 8), nearly_whole(1, 6), uniform(-5, 0)),
        any_of(uniform(-5, 8), nearly_whole(-3, 6)),
        log_uniform(1e-3, 1e4),
    ),
    60,
)
row(
    H,
    "hyp2f1",
    "hyp2f1",
    mp.hyp2f1,
    sc.hyp2f1,
    each(SIZE, SIZE, BELOW, any_of(unit, uniform(-1, 1), lambda r: -log_uniform(1, 1e8)(r))),
    90,
)


def whole_difference(r):
    a, b = any_of(uniform(-5, 5), nearly_whole(-4, 5))(r), any_of(
        uniform(-5, 5), nearly_whole(-4, 5)
    )(r)
    c = a + b + r.randint(-3, 4) + r.choice((0.0, 0.0, 1e-3, -1e-6, 1e-10))
    return [a, b, c if c > 0.1 else 1.5, 1 - log_uniform(1e-12, 0.3)(r)]


row(H, "hyp2f1, c - a - b whole", "hyp2f1", mp.hyp2f1, sc.hyp2f1, whole_difference, 60)

# ---- orthogonal polynomials

P = "orthogonal polynomials"
N, INSIDE = whole(0, 100), any_of(uniform(-1, 1), both(1e-30, 1))
row(
    P,
    "legendre",
    "legendre",
    lambda n, x: mp.legendre(int(n), x),
    lambda n, x: sc.eval_legendre(n.astype(int), x),
    each(N, INSIDE),
)
row(
    P,
    "chebyshevt",
    "chebyshevt",
    lambda n, x: mp.chebyt(int(n), x),
    lambda n, x: sc.eval_chebyt(n.astype(int), x),
    each(N, INSIDE),
)
row(
    P,
    "chebyshevu",
    "chebyshevu",
    lambda n, x: mp.chebyu(int(n), x),
    lambda n, x: sc.eval_chebyu(n.astype(int), x),
    each(N, INSIDE),
)
row(
    P,
    "hermite",
    "hermite",
    lambda n, x: mp.hermite(int(n), x),
    lambda n, x: sc.eval_hermite(n.astype(int), x),
    each(N, both(1e-3, 20)),
)
row(
    P,
    "laguerre",
    "(n, a, x) -> laguerre(n, x; alpha = a)",
    lambda n, a, x: mp.laguerre(int(n), a, x),
    lambda n, a, x: sc.eval_genlaguerre(n.astype(int), a, x),
    each(N, uniform(-0.9, 5), log_uniform(1e-3, 100)),
)
row(
    P,
    "gegenbauer",
    "gegenbauer",
    lambda n, a, x: mp.gegenbauer(int(n), a, x),
    lambda n, a, x: sc.eval_gegenbauer(n.astype(int), a, x),
    each(N, uniform(0.1, 5), INSIDE),
)
row(
    P,
    "jacobi",
    "jacobi",
    lambda n, a, b, x: mp.jacobi(int(n), a, b, x),
    lambda n, a, b, x: sc.eval_jacobi(n.astype(int), a, b, x),
    each(N, uniform(-0.9, 5), uniform(-0.9, 5), INSIDE),
)


def associated(n, m, x):
    """(-1)^m (1 - x^2)^(m/2) d^m P_n / dx^m by a Gegenbauer polynomial."""
    n, m = int(n), int(m)
    return (
        (-1) ** m
        * mp.fac2(2 * m - 1)
        * (1 - x * x) ** (mp.mpf(m) / 2)
        * mp.gegenbauer(n - m, m + mp.mpf(1) / 2, x)
    )


def degree_and_order(r):
    n = r.randint(0, 40)
    return [float(n), float(r.randint(0, n))]


row(
    P,
    "assoclegendre",
    "assoclegendre",
    associated,
    None,
    lambda r: degree_and_order(r) + [INSIDE(r)],
)

# ---- others

O = "others"
row(
    O,
    "zeta",
    "x -> zeta(x)",
    mp.zeta,
    sc.zeta,
    each(
        any_of(
            log_uniform(1e-10, 0.9),
            log_uniform(1.001, 60),
            lambda r: 1 + both(1e-10, 1e-2)(r),
            lambda r: -r.uniform(0, 100),
        )
    ),
)
row(
    O,
    "zeta, of Hurwitz",
    "(s, a) -> zeta(s; a = a)",
    lambda s, a: mp.zeta(s, a),
    sc.zeta,
    each(
        any_of(log_uniform(1.001, 60), lambda r: 1 + log_uniform(1e-8, 1e-2)(r)),
        log_uniform(1e-3, 1e3),
    ),
)
row(
    O,
    "dilog",
    "dilog",
    lambda x: mp.re(mp.polylog(2, x)),
    lambda x: np.where(x <= 1, sc.spence(np.minimum(1 - x, 1e300)), np.nan),
    each(any_of(both(1e-100, 1), both(0.5, 1e6))),
)
row(
    O,
    "clausen",
    "clausen",
    lambda x: mp.clsin(2, x),
    None,
    each(any_of(both(1e-30, 1), both(0.5, 30))),
)
row(
    O,
    "lambertw",
    "x -> lambertw(x)",
    lambda x: mp.lambertw(x),
    lambda x: sc.lambertw(x).real,
    each(
        any_of(
            lambda r: -0.36787944117144233 + log_uniform(1e-15, 0.3)(r),
            both(1e-100, 0.3),
            log_uniform(0.3, 1e290),
        )
    ),
)
row(
    O,
    "lambertw, lower",
    "x -> lambertw(x; lower = true)",
    lambda x: mp.re(mp.lambertw(x, -1)),
    lambda x: sc.lambertw(x, -1).real,
    each(
        any_of(
            lambda r: -0.36787944117144233 + log_uniform(1e-15, 0.3)(r),
            lambda r: -log_uniform(1e-290, 0.3)(r),
        )
    ),
)
