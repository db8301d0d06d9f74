#!/usr/bin/env python3
"""reference.py - reference values of special functions and distributions.

Writes tests/stdlib/functions/_special_reference.dsl.

Use: scripts/docs/special/reference.py [NAME...]
         functions whose names contain one of the words; all without words
     --seed N --times K --out FILE
         other points, K times as many, into another file: a search for larger
         errors. `error_of` of _special_table.dsl reads such a file, too.

Needs mpmath and SciPy, which no other test needs, and some minutes.

- Points are drawn with a fixed seed over the whole domain of a function:
  extremes, both signs, tails, nearly integer orders.
- mpmath computes the value at a point with 40 digits. It is accepted when a
  computation with 70 digits agrees to 25.
- Points are omitted when the value is not finite, beyond 1e300 or below 1e-290
  (tests/stdlib/functions/special_ends.dsl has those).
- Each value has its condition number: its relative change over that of the
  arguments.
- This program measures the error of SciPy at the points;
  tests/stdlib/functions/special_table.dsl measures that of Atled.
"""

import argparse
import importlib
import math
import multiprocessing
import os
import random
import signal
import sys

import mpmath as mp
import numpy as np
import scipy
from values import ROWS

OUT = os.path.join(
    os.path.dirname(os.path.abspath(__file__)),
    "..",
    "..",
    "..",
    "tests",
    "stdlib",
    "functions",
    "_special_reference.dsl",
)


class TooSlow(Exception):
    pass


def alarm(_signal, _frame):
    raise TooSlow


signal.signal(signal.SIGALRM, alarm)
mp.mp.dps = 40
for module in ("functions", "distributions"):  # each adds its rows
    importlib.import_module(module)

# ---- measuring and writing


def safely(value, args):
    """Returns mpmath's value, or None when it is not accurate within 2 seconds."""
    try:
        signal.setitimer(signal.ITIMER_REAL, 2)
        first = value(*map(mp.mpf, args))
        with mp.workdps(70):
            second = value(*map(mp.mpf, args))
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Exception:  # pylint: disable=broad-except; mpmath gives up in many ways
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if isinstance(first, mp.mpc) and first.imag == 0:
        first, second = first.real, mp.re(second)
    if (
        not mp.isfinite(second)
        or not 1e-290 < abs(second) < 1e300
        or abs(first - second) > abs(second) * mp.mpf(10) ** -25
    ):
        return None
    return second


def condition(value, args, at):
    """Returns the sum of |x f_x / f| over non-integer arguments, by differences."""
    total = 0
    for k, x in enumerate(args):
        if x == int(x) and abs(x) < 1e7:
            continue
        moved = list(map(mp.mpf, args))
        moved[k] *= 1 + mp.mpf(10) ** -14
        try:
            signal.setitimer(signal.ITIMER_REAL, 2)
            total += float(abs(value(*moved) - at) / abs(at) * mp.mpf(10) ** 14)
        except Exception:  # pylint: disable=broad-except
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
        return (
            f"{number(x.real)} {'-' if im < 0 or 1 / im < 0 else '+'} {number(abs(im))}im"
            if im
            else f"{number(x.real)} + 0im"
        )
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
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("names", nargs="*")
    options.add_argument("--seed", type=int, default=20)
    options.add_argument("--times", type=int, default=1)
    options.add_argument("--out", default=OUT)
    given = options.parse_args()
    names = given.names
    with open(given.out, "w", encoding="utf-8") as out:
        out.write(
            "# _special_reference.dsl - made by scripts/docs/special/reference.py:"
            " functions, arguments, values of mpmath, conditions,\n"
            "# and the worst error of SciPy.\n#\n"
            f"# mpmath {mp.__version__}, SciPy {scipy.__version__}."
            " `x` has an array for each argument;"
            " `scipy` is inf where SciPy gives NaN or an infinity,\n"
            "# and -1 where it has no such function.\n\n"
        )
        keys = []
        wanted = [k for k in range(len(ROWS)) if not names or any(n in ROWS[k][1] for n in names)]
        for name, dsl, group, found, worst in multiprocessing.Pool(2).imap(
            measure, [(k, given.seed, given.times) for k in wanted]
        ):
            print(f"{name}: {len(found)} points, SciPy {worst}", file=sys.stderr, flush=True)
            if not found:
                continue
            peer = "-1.0" if worst is None else "1 / 0.0" if math.isinf(worst) else f"{worst:.2g}"
            keys.append(f"row_{len(keys)}")
            columns = ", ".join(
                "[" + ", ".join(number(a) for a in column) + "]"
                for column in zip(*(f[0] for f in found))
            )
            comma = "," if len(found[0][0]) == 1 else ""
            out.write(
                f'{keys[-1]} = (group = "{group}", name = "{name}", f = {dsl}, '
                f"scipy = {peer}, x = ({columns}{comma}),\n"
            )
            conditions = ", ".join(f"{f[2]:.3g}" if f[2] >= 1000 else "1.0" for f in found)
            out.write(
                f"  y = [{', '.join(literal(f[1]) for f in found)}],\n"
                f"  condition = [{conditions}])\n"
            )
        out.write("rows = (" + ", ".join(keys) + ")\n")


main()
