"""values.py - random arguments of special functions, and values mpmath lacks.

`row` adds a function to ROWS: its group and name, Atled's function as source
text, mpmath's function, SciPy's or None, the function that draws a point, and
the number of points.
"""

import math

import mpmath as mp

POINTS = 32
ROWS = []

# ---- random arguments


def log_uniform(low, high):
    return lambda r: math.exp(r.uniform(math.log(low), math.log(high)))


def both(low, high):
    draw = log_uniform(low, high)
    return lambda r: draw(r) * r.choice((-1, 1))


def uniform(low, high):
    return lambda r: r.uniform(low, high)


def whole(low, high):
    return lambda r: float(
        int(round(math.exp(r.uniform(math.log(low + 1), math.log(high + 1)))) - 1)
    )


def any_of(*draws):
    return lambda r: r.choice(draws)(r)


def unit(r):
    """Draws from 0 .. 1, often very close to an end."""
    kind = r.random()
    if kind < 0.3:
        return log_uniform(1e-250, 1e-2)(r)
    if kind < 0.5:
        return 1 - log_uniform(1e-15, 1e-2)(r)
    return r.uniform(0, 1)


def nearly_whole(low, high):
    return lambda r: float(r.randint(low, high)) + r.choice(
        (0.0, 0.01, -0.01, 1e-5, -1e-8, 1e-12, 0.5, r.uniform(0, 1))
    )


def each(*draws):
    return lambda r: [d(r) for d in draws]


SHAPE = any_of(log_uniform(1e-8, 1), log_uniform(0.3, 100), log_uniform(10, 1e5))


# ---- values by mpmath


def gamma_tail(a, x, upper):
    """By the series for x < a + 1, else by the continued fraction."""
    if x <= 0:
        return mp.mpf(1 if upper else 0)
    if a > 1e7:
        return (
            mp.gammainc(a, x, mp.inf, regularized=True)
            if upper
            else mp.gammainc(a, 0, x, regularized=True)
        )
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
    """Returns I_x(a, b) with x + y = 1, or 1 - I_x; by the continued fraction."""
    if x <= 0 or y <= 0:
        return mp.mpf((x > 0) != upper)
    left = x <= (a + 1) / (a + b + 2)
    p, q, z, rest = (a, b, x, y) if left else (b, a, y, x)
    weight = mp.exp(
        p * mp.log(z) + q * mp.log(rest) + mp.loggamma(p + q) - mp.loggamma(p + 1) - mp.loggamma(q)
    )
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
    """Solves tail(x, False) = p for x > 0, starting at x.

    Newton's method on the logarithms of the smaller tail.
    """
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


def extended(f, z):
    """Uses enough digits that neither the real nor the imaginary part is lost."""
    with mp.workdps(mp.mp.dps + 420):
        return f(z)
