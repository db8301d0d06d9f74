"""common.py - command line, sizes, inputs and timing of the Python peers.

Needs: numpy.

Guarantees:
- A time is the median of several batches. A warm-up compiles before them.
- Each measured row prints one line of JSON. A row that fails prints one with
  "skipped", and the others still run.
- The sizes are those of bench/c_reference/.
"""
import argparse
import json
import statistics
import sys
import time

import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--quick", action="store_true")
parser.add_argument("--only", action="append", default=[])
parser.add_argument("--threads", type=int, default=2)
options = parser.parse_args()

SIZES = {  # row: (full, quick)
    "wave": (10_000_000, 200_000), "chain-1e3": (1000, 1000), "chain-1e5": (100_000, 20_000),
    "chain-1e7": (10_000_000, 200_000), "triad": (10_000_000, 500_000),
    "sum": (10_000_000, 500_000), "dot": (10_000_000, 500_000), "max": (10_000_000, 500_000),
    "cumsum": (10_000_000, 500_000), "softmax": (8192, 128), "layernorm": (8192, 128),
    "heat": (1024, 128), "mandelbrot": (512, 48), "nbody": (100_000, 500), "fib": (35, 19),
    "lorenz": (1_000_000, 5000), "pinn-20x8": (10_000, 400), "pinn-64x4": (10_000, 200),
    "pinn-128x5": (10_000, 50), "gram": (8192, 256), "gmm": (1000, 200),
    "newton": (10_000, 200), "taylor-4": (1000, 200), "taylor-8": (1000, 200),
    "ba": (31843, 500), "lstm": (1024, 60), "ensemble": (100_000, 2000),
}
WIDTH = 1024  # of the rows of softmax and layer norm
SECONDS = 3  # about, for the batches of a row
HEAT_STEPS = 20 if options.quick else 1000
VISCOSITY = 0.01 / np.pi


def size(row):
    full, quick = SIZES[row.removesuffix("-f32").removesuffix("-value")]
    return quick if options.quick else full


def wanted(row):
    return not options.only or any(word in row for word in options.only)


def dtype_of(row):
    return np.float32 if row.endswith("-f32") else np.float64


def numbers(lo, hi, *shape, seed=1, dtype=np.float64):
    return np.random.default_rng(seed).uniform(lo, hi, shape).astype(dtype)


def measure(peer, row, make):
    """make() gives the function to time; it runs to completion when called."""
    if not wanted(row):
        return
    try:
        work = make()
        start = time.perf_counter()
        work()
        first = time.perf_counter() - start
        if first < 1:
            work()
        start = time.perf_counter()
        work()
        once = time.perf_counter() - start
        turns = max(1, int((0.01 if options.quick else 0.1) / (once + 1e-9)))
        batches = 3 if options.quick else max(1, min(7, int(SECONDS / max(once, 0.1))))
        times = [once] if once > SECONDS / 2 else []
        while len(times) < batches:
            start = time.perf_counter()
            for _ in range(turns):
                work()
            times.append((time.perf_counter() - start) / turns)
        print(json.dumps({"row": row, "peer": peer, "ms": round(1e3 * statistics.median(times), 6),
                          "low": round(1e3 * min(times), 6), "high": round(1e3 * max(times), 6),
                          "first_ms": round(1e3 * first, 3)}), flush=True)
    except Exception as problem:  # a peer that lacks something is no reason to lose the rest
        print(json.dumps({"row": row, "peer": peer,
                          "skipped": f"{type(problem).__name__}: {str(problem)[:100]}"}),
              flush=True)
        print(f"bench: {peer} {row}: {type(problem).__name__}: {problem}", file=sys.stderr)


MATMULS = [(n, suffix) for n in (16, 32, 64, 128, 256, 512, 1024, 2048) for suffix in ("", "-f32")]
LAYERS = [(n, suffix) for n in (20, 64, 128) for suffix in ("", "-f32")]
PINNS = {"pinn-20x8": (20, 8, 2), "pinn-64x4": (64, 4, 2), "pinn-128x5": (128, 5, 3)}


def matmul_inputs(n, suffix):
    dtype = dtype_of(suffix or "x")
    shape = ((100 if options.quick else 1000), n, n) if n <= 32 else (n, n)
    return numbers(-1, 1, *shape, dtype=dtype), numbers(-1, 1, *shape, seed=2, dtype=dtype)


def layer_inputs(n, suffix):
    dtype = dtype_of(suffix or "x")
    rows = 1000 if options.quick else 10_000
    return (numbers(-1, 1, rows, n, dtype=dtype), numbers(-0.4, 0.4, n, n, seed=2, dtype=dtype),
            numbers(-0.2, 0.2, n, seed=3, dtype=dtype))


def network(width, layers, coords, dtype=np.float64):
    sizes = [coords] + [width] * layers + [1]
    span = (6 / (2 * width)) ** 0.5
    return [(numbers(-span, span, b, a, seed=10 + k, dtype=dtype),
             numbers(-span, span, b, seed=30 + k, dtype=dtype))
            for k, (a, b) in enumerate(zip(sizes, sizes[1:]))]


def points(row, coords, dtype=np.float64):
    n = size(row)
    return [numbers(-1 if k < coords - 1 else 0, 1, n, seed=50 + k, dtype=dtype)
            for k in range(coords)]


def mixture():
    n, d, k = size("gmm"), 10, 25
    return (numbers(-1, 1, k), numbers(0, 1, k, d, seed=2),
            numbers(-0.5, 0.5, k, d * (d + 1) // 2, seed=3), numbers(-1.5, 1.5, n, d, seed=4))


def systems():
    n = size("newton")
    return (np.array([1.0, 2, 3]) + numbers(-0.1, 0.1, n, 3),
            np.array([14.0, 6, 0]) + numbers(-0.3, 0.3, n, 3, seed=2))


def deep_network(row):
    """Weights of a network 1-32-32-32-1 without its last bias, and the points."""
    w, span = 32, (6 / 64) ** 0.5
    shapes = [(w,), (w,), (w, w), (w,), (w, w), (w,), (w,)]
    return ([numbers(-span, span, *shape, seed=90 + k) for k, shape in enumerate(shapes)],
            numbers(-1, 1, size(row), seed=98))


def bundle():
    """Cameras, points, weights; camera, point and measured position of each observation."""
    n, m, p = 49, 7776, size("ba")
    k = np.arange(p)
    return (numbers(0.1, 0.4, n, 11), numbers(2, 3, m, 3, seed=2), numbers(0.5, 1, p, seed=3),
            k * 7 % n, k * 31 % m, numbers(-1, 1, p, 2, seed=4))


def recurrent():
    return (numbers(-1, 1, 2, 2, 4, 14), numbers(-1, 1, 3, 14, seed=2),
            numbers(-1, 1, 2, 2, 14, seed=3), numbers(0, 1, size("lstm"), 14, seed=4))
