"""sturm.py - accurate Sturm-Liouville eigenvalues, for test_statements.py.

Method: the Prüfer angle of (u, p u') at the end increases with λ, by π between
eigenvalues (Pryce, Numerical Solution of Sturm-Liouville Problems, 1993). The
system is integrated by the fourth-order Magnus method with Gauss points, on two
grids with Richardson extrapolation.

Contract:
- `eigenvalues(p, q, w, low, high, places, left, right, count)` returns the
  lowest eigenvalues of -(p u')' + q u = λ w u, to 1e-9 or better.
- p, q and w are functions of x, smooth between the `places`; p and w are
  positive.
- An end is None for u == 0, or h for p u_n + h u == 0, where u_n is the outward
  derivative.
"""

import math

GAUSS = 0.5 / math.sqrt(3)


def grid(p, q, w, places, steps):
    """The length of each step, and 1/p, q and w at its two Gauss points."""
    out = []
    for a, b in zip(places, places[1:]):
        h = (b - a) / steps
        for i in range(steps):
            x = a + (i + 0.5) * h
            y, z = x - GAUSS * h, x + GAUSS * h
            out.append((h, 1 / p(y), 1 / p(z), q(y), q(z), w(y), w(z)))
    return out


def angle(rows, value, slope, lam):
    """The Prüfer angle at the end, tan θ = u/(p u'), from (value, slope)."""
    u, v, turns = value, slope, 0
    for h, r1, r2, q1, q2, w1, w2 in rows:
        s1, s2 = q1 - lam * w1, q2 - lam * w2
        r, s = 0.5 * h * (r1 + r2), 0.5 * h * (s1 + s2)
        # the commutator, √3/12 h² [A2, A1]
        d = math.sqrt(3) / 12 * h * h * (r2 * s1 - r1 * s2)
        # exp of ((d, r), (s, -d))
        e = d * d + r * s
        if e > 0:
            k = math.sqrt(e)
            c, f = math.cosh(k), math.sinh(k) / k
        elif e < 0:
            k = math.sqrt(-e)
            c, f = math.cos(k), math.sin(k) / k
        else:
            c, f = 1.0, 1.0
        u, v, before = (c + f * d) * u + f * r * v, f * s * u + (c - f * d) * v, u
        if u * before < 0 or (u == 0 and before != 0):
            turns += 1
        size = abs(u) + abs(v)
        u, v = u / size, v / size
    inside = math.atan2(u, v) % math.pi
    if u == 0:
        inside = 0.0
    return turns * math.pi + inside


def root(f, low, high):
    """The zero of an increasing f: bisection, then the Illinois method."""
    a, b = low, high
    fa, fb = f(a), f(b)
    side = 0
    for _ in range(200):
        x = b - fb * (b - a) / (fb - fa) if fb - fa < 1 else 0.5 * (a + b)
        fx = f(x)
        if fx > 0:
            b, fb = x, fx
            fa = fa / 2 if side == 1 else fa
            side = 1
        else:
            a, fa = x, fx
            fb = fb / 2 if side == -1 else fb
            side = -1
        if fx == 0 or b - a <= 1e-13 * (abs(a) + abs(b)):
            return x
    return x


def eigenvalues(p, q, w, low, high, places, left, right, count, steps=100):
    value, slope = (0.0, 1.0) if left is None else (1.0, left)
    end = math.pi if right is None else math.atan2(1.0, -right)
    found = []
    for finer in (1, 2):
        rows = grid(p, q, w, [low, *places, high], steps * finer)
        out, from_ = [], None
        bottom = min(min((q1) / w1, q2 / w2) for _, _, _, q1, q2, w1, w2 in rows)
        for k in range(count):
            f = lambda lam: angle(rows, value, slope, lam) - end - k * math.pi
            if finer == 2:
                d = 1e-4 * abs(found[0][k]) + 1e-6
                a, b = found[0][k] - d, found[0][k] + d
            else:
                a = bottom - 1.0 if from_ is None else from_
                b = a + 1.0
            while f(a) > 0:
                a -= 2 * (b - a)
            while f(b) < 0:
                b += 2 * (b - a)
            out.append(root(f, a, b))
            from_ = out[-1]
        found.append(out)
    return [b + (b - a) / 15 for a, b in zip(*found)]
