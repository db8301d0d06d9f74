"""numpy_peer.py - the rows in NumPy, as its users write them.

Needs: numpy. Prints one line of JSON for each row.
"""
import os

import common
from common import measure, numbers, size

os.environ.setdefault("OPENBLAS_NUM_THREADS", str(common.options.threads))
import numpy as np

PEER = "NumPy"


def wave():
    a, b, x = 1.3, 0.7, numbers(-5, 5, size("wave"))
    return lambda: a * np.sin(x) + np.exp(-(x**2)) * b


def chain(row):
    x = numbers(-3, 3, size(row))

    def work():
        a = 0.5 * x + 0.1
        b = np.tanh(a)
        p = b * b - 0.3 * x
        d = np.exp(-p * p)
        f = d * b + a
        h = f / np.sqrt(f * f + 1)
        return np.tanh(h - 0.2 * d) * p + h

    return work


def reduction(row):
    x, y = numbers(0, 1, size(row)), numbers(0, 1, size(row), seed=2)
    return {"triad": lambda: x + 3 * y, "sum": lambda: x.sum(), "dot": lambda: x @ y,
            "max": lambda: x.max(), "cumsum": lambda: np.cumsum(x)}[row]


def softmax():
    x = numbers(-4, 4, size("softmax"), common.WIDTH)

    def work():
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    return work


def layer_norm():
    x, gain, shift = (numbers(-4, 4, size("layernorm"), common.WIDTH),
                      numbers(0.5, 1.5, common.WIDTH), numbers(-0.5, 0.5, common.WIDTH))

    def work():
        d = x - x.mean(axis=1, keepdims=True)
        return d / np.sqrt((d**2).mean(axis=1, keepdims=True) + 1e-5) * gain + shift

    return work


def matmul(n, suffix):
    a, b = common.matmul_inputs(n, suffix)
    return lambda: a @ b


def layer(n, suffix):
    x, w, b = common.layer_inputs(n, suffix)
    return lambda: np.tanh(x @ w.T + b)


def heat():
    n = size("heat")
    start = numbers(0, 1, n, n)

    def work():
        u = start.copy()
        for _ in range(common.HEAT_STEPS):
            u[1:-1, 1:-1] += 0.2 * (
                u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
        return u

    return work


def newton():
    vs, ps = common.systems()

    def one(v, p):
        for _ in range(10):
            x, y, z = v
            f = np.array([x * x + y * y + z * z - p[0], x * y * z - p[1], x - y * y + z - p[2]])
            j = np.array([[2 * x, 2 * y, 2 * z], [y * z, x * z, x * y], [1, -2 * y, 1]])
            v = v - np.linalg.solve(j, f)
        return v

    return lambda: np.array([one(v, p) for v, p in zip(vs, ps)])


measure(PEER, "wave", wave)
for row in ("chain-1e3", "chain-1e5", "chain-1e7"):
    measure(PEER, row, lambda: chain(row))
for row in ("triad", "sum", "dot", "max", "cumsum"):
    measure(PEER, row, lambda: reduction(row))
measure(PEER, "softmax", softmax)
measure(PEER, "layernorm", layer_norm)
for n, suffix in common.MATMULS:
    measure(PEER, f"matmul-{n}{suffix}", lambda: matmul(n, suffix))
for n, suffix in common.LAYERS:
    measure(PEER, f"layer-{n}{suffix}", lambda: layer(n, suffix))
measure(PEER, "heat", heat)
measure(PEER, "newton", newton)
