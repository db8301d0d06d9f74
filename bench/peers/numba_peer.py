"""numba_peer.py - the rows in Numba: compiled loops, parallel over arrays.

Needs: numba, and scipy for solve. Prints one line of JSON for each row.
"""
import math
import os

import common
from common import measure, numbers, size

os.environ.setdefault("NUMBA_NUM_THREADS", str(common.options.threads))
import numba
import numpy as np

PEER = "Numba"
parallel = numba.njit(parallel=True, fastmath=False)
plain = numba.njit


def timed(f, *args):
    return lambda: f(*args)


@parallel
def wave(a, b, x):
    y = np.empty_like(x)
    for i in numba.prange(len(x)):
        y[i] = a * math.sin(x[i]) + math.exp(-x[i] * x[i]) * b
    return y


@parallel
def chain(x):
    y = np.empty_like(x)
    for i in numba.prange(len(x)):
        a = 0.5 * x[i] + 0.1
        b = math.tanh(a)
        p = b * b - 0.3 * x[i]
        d = math.exp(-p * p)
        f = d * b + a
        h = f / math.sqrt(f * f + 1)
        y[i] = math.tanh(h - 0.2 * d) * p + h
    return y


@parallel
def triad(b, c):
    y = np.empty_like(b)
    for i in numba.prange(len(b)):
        y[i] = b[i] + 3 * c[i]
    return y


@numba.njit(parallel=True, fastmath=True)  # sums in another order need it
def total(x):
    s = 0.0
    for i in numba.prange(len(x)):
        s += x[i]
    return s


@plain
def running(x):
    y = np.empty_like(x)
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        y[i] = s
    return y


@parallel
def softmax(x):
    y = np.empty_like(x)
    for r in numba.prange(x.shape[0]):
        m = x[r].max()
        s = 0.0
        for i in range(x.shape[1]):
            y[r, i] = math.exp(x[r, i] - m)
            s += y[r, i]
        for i in range(x.shape[1]):
            y[r, i] /= s
    return y


@parallel
def heat(u, steps):
    v = u.copy()
    u = u.copy()
    n = len(u)
    for _ in range(steps):
        for i in numba.prange(1, n - 1):
            for j in range(1, n - 1):
                v[i, j] = u[i, j] + 0.2 * (
                    u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j])
        u, v = v, u
    return u


@plain
def mandelbrot(n):
    total = 0
    for i in range(n):
        for j in range(n):
            a, b, x, y, k = -2.0 + 2.5 * j / n, -1.25 + 2.5 * i / n, 0.0, 0.0, 0
            while k < 100 and x * x + y * y <= 4:
                x, y = x * x - y * y + a, 2 * x * y + b
                k += 1
            total += k
    return total


@plain
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


@plain
def lorenz(steps):
    h = 1e-5
    x, y, z = 1.0, 0.0, 0.0
    for _ in range(steps):
        a1, b1, c1 = 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z
        p, q, r = x + h / 2 * a1, y + h / 2 * b1, z + h / 2 * c1
        a2, b2, c2 = 10 * (q - p), p * (28 - r) - q, p * q - 8 / 3 * r
        p, q, r = x + h / 2 * a2, y + h / 2 * b2, z + h / 2 * c2
        a3, b3, c3 = 10 * (q - p), p * (28 - r) - q, p * q - 8 / 3 * r
        p, q, r = x + h * a3, y + h * b3, z + h * c3
        a4, b4, c4 = 10 * (q - p), p * (28 - r) - q, p * q - 8 / 3 * r
        x += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        y += h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
        z += h / 6 * (c1 + 2 * c2 + 2 * c3 + c4)
    return x, y, z


@plain
def planets(x, v, mass, steps):
    G, dt = 0.00029591220828559, 10.0
    for _ in range(steps):
        for i in range(5):
            for j in range(i + 1, 5):
                dx, dy, dz = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
                r2 = dx * dx + dy * dy + dz * dz
                f = G * dt / (r2 * math.sqrt(r2))
                v[i, 0] -= dx * (f * mass[j])
                v[i, 1] -= dy * (f * mass[j])
                v[i, 2] -= dz * (f * mass[j])
                v[j, 0] += dx * (f * mass[i])
                v[j, 1] += dy * (f * mass[i])
                v[j, 2] += dz * (f * mass[i])
        for i in range(5):
            for k in range(3):
                x[i, k] += dt * v[i, k]
    return x


@parallel
def newton(vs, ps):
    out = np.empty_like(vs)
    for i in numba.prange(len(vs)):
        x, y, z = vs[i, 0], vs[i, 1], vs[i, 2]
        for _ in range(10):
            f = np.array([x * x + y * y + z * z - ps[i, 0], x * y * z - ps[i, 1],
                          x - y * y + z - ps[i, 2]])
            j = np.array([[2 * x, 2 * y, 2 * z], [y * z, x * z, x * y], [1, -2 * y, 1]])
            d = np.linalg.solve(j, f)
            x -= d[0]
            y -= d[1]
            z -= d[2]
        out[i, 0], out[i, 1], out[i, 2] = x, y, z
    return out


def bodies():
    from python_peer import MASS, V, X

    return lambda: planets(np.array(X), np.array(V), np.array(MASS), size("nbody"))


if __name__ == "__main__":
    measure(PEER, "wave", lambda: timed(wave, 1.3, 0.7, numbers(-5, 5, size("wave"))))
    for row in ("chain-1e3", "chain-1e5", "chain-1e7"):
        measure(PEER, row, lambda: timed(chain, numbers(-3, 3, size(row))))
    measure(PEER, "triad", lambda: timed(triad, numbers(-1, 1, size("triad")),
                                         numbers(-1, 1, size("triad"), seed=2)))
    measure(PEER, "sum", lambda: timed(total, numbers(0, 1, size("sum"))))
    measure(PEER, "cumsum", lambda: timed(running, numbers(-1, 1, size("cumsum"))))
    measure(PEER, "softmax", lambda: timed(softmax, numbers(-4, 4, size("softmax"), common.WIDTH)))
    measure(PEER, "heat",
            lambda: timed(heat, numbers(0, 1, size("heat"), size("heat")), common.HEAT_STEPS))
    measure(PEER, "mandelbrot", lambda: timed(mandelbrot, size("mandelbrot")))
    measure(PEER, "nbody", bodies)
    measure(PEER, "fib", lambda: timed(fib, size("fib")))
    measure(PEER, "lorenz", lambda: timed(lorenz, size("lorenz")))
    measure(PEER, "newton", lambda: timed(newton, *common.systems()))
