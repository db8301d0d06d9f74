"""beam.py - grid-free eigenvalues of beams, an oracle for test_statements.py.

Method: both equations have four solutions in closed form. The end conditions
applied to them give a 4 by 4 matrix, which is singular at an eigenvalue
(Timoshenko, Vibration Problems in Engineering, 1937; tapered: Kirchhoff 1880).
Rigid body modes, with the eigenvalue k or 0, are known and not searched for.

Contract:
- `uniform(d, tension, k, length, left, right, count)` returns the lowest
  eigenvalues of d u'''' - tension u'' + k u = λ u.
- `tapered(d, low, high, left, right, count)` returns the lowest eigenvalues of
  (d x^4 u'')'' = λ u for 0 < low.
- Their relative error is at most 1e-11.
- An end is clamped, hinged, free or sliding. The force is 0 at free and sliding
  ends.
"""

import math


def determinant(rows):
    """Gaussian elimination with partial pivoting, after row scaling."""
    m = [[v / max(abs(v) for v in row) for v in row] for row in rows]
    n, out = len(m), 1.0
    for j in range(n):
        p = max(range(j, n), key=lambda i: abs(m[i][j]))
        if m[p][j] == 0:
            return 0.0
        if p != j:
            m[j], m[p] = m[p], m[j]
            out = -out
        out *= m[j][j]
        for i in range(j + 1, n):
            f = m[i][j] / m[j][j]
            m[i] = [a - f * b for a, b in zip(m[i], m[j])]
    return out


def roots(f, first, step, count):
    """The first zeros of f beyond `first`, at least a step apart."""
    out, a = [], first
    fa = f(a)
    while len(out) < count:
        b = a + step
        fb = f(b)
        if fa * fb < 0:
            low, high, flow = a, b, fa
            while high - low > 2e-15 * high:
                mid = 0.5 * (low + high)
                if mid in (low, high):
                    break
                fmid = f(mid)
                if flow * fmid <= 0:
                    high = mid
                else:
                    low, flow = mid, fmid
            out.append(0.5 * (low + high))
        a, fa = b, fb
    return out


def conditions(kind, jets, force):
    """The two matrix rows of an end.

    jets: u, u', u'', u''' of each solution; force: the force as a function of
    these.
    """
    u, slope, bend, _ = zip(*jets)
    shear = [force(*j) for j in jets]
    return {
        "clamped": (u, slope),
        "hinged": (u, bend),
        "free": (bend, shear),
        "sliding": (slope, shear),
    }[kind]


def uniform(d, tension, k, length, left, right, count):
    """Uses d b^4 + tension b^2 = λ - k, where b is the wave number."""
    moving = ("free", "sliding")
    rigid = (left in moving and right in moving) + (
        tension == 0 and {left, right} <= {"free", "hinged"} and "free" in (left, right)
    )
    force = lambda u, s, b, t: d * t - tension * s

    def wrong(b):
        a = math.sqrt(b * b + tension / d)
        rows = []
        for x, kind in ((0.0, left), (length, right)):
            down, up = math.exp(-a * x), math.exp(a * (x - length))
            c, s = math.cos(b * x), math.sin(b * x)
            jets = [
                (down, -a * down, a * a * down, -(a**3) * down),
                (up, a * up, a * a * up, a**3 * up),
                (c, -b * s, -b * b * c, b**3 * s),
                (s, b * c, -b * b * s, -(b**3) * c),
            ]
            rows += conditions(kind, jets, force)
        return determinant(rows)

    bs = roots(wrong, 0.05 / length, 0.1 / length, count - rigid)
    return [k] * rigid + [k + d * b**4 + tension * b * b for b in bs]


def tapered(d, low, high, left, right, count):
    """Uses the solutions x^r with (r + 2)(r + 1)r(r - 1) = λ/d.

    Two of them oscillate with the logarithm of x.
    """
    moving = ("free", "sliding")
    rigid = (left in moving and right in moving) + (
        {left, right} <= {"free", "hinged"} and "free" in (left, right)
    )
    force = lambda x: lambda u, s, b, t: x * t + 4 * b
    span = math.log(high / low)

    def wrong(b):
        # r = -1/2 ± q: q² = 5/4 ± sqrt(1 + λ/d), of which -b² is the lower
        root = 1.25 + b * b
        q = math.sqrt(1.25 + root)
        rows = []
        for x, kind in ((low, left), (high, right)):
            z = math.log(x / low)
            jets = []
            for r, size in ((-0.5 - q, z), (-0.5 + q, z - span)):
                p = math.exp((-q if r < -0.5 else q) * size) * x**-0.5
                jets.append(
                    (p, r * p / x, r * (r - 1) * p / x**2, r * (r - 1) * (r - 2) * p / x**3)
                )
            r = complex(-0.5, b)
            w = x**-0.5 * complex(math.cos(b * z), math.sin(b * z))
            whole = (w, r * w / x, r * (r - 1) * w / x**2, r * (r - 1) * (r - 2) * w / x**3)
            jets += [tuple(v.real for v in whole), tuple(v.imag for v in whole)]
            rows += conditions(kind, jets, force(x))
        return determinant(rows)

    bs = roots(wrong, 0.05 / span, 0.1 / span, count - rigid)
    return [0.0] * rigid + [d * ((1.25 + b * b) ** 2 - 1) for b in bs]
