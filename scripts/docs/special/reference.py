#!/usr/bin/env python3
"""reference.py - writes tests/stdlib/functions/_special_reference.dsl: values of special functions and
distributions over their whole ranges.

Use: scripts/docs/special/reference.py [NAME...]     functions with these words in their names, all when there are none
     --seed N --times K --out FILE              other points, K times as many, into another file: a search for worse ones

Needs mpmath and SciPy, which nothing else of the tests does; some minutes. A file of --out is read by `error_of` of
tests/stdlib/functions/_special_table.dsl as the table's own is.

Each function has points drawn with a fixed seed over its whole domain: extremes, both signs, tails,
nearly whole orders. The value at a point comes from mpmath with 40 digits and is kept when 70
digits confirm it to 25; points whose value is not finite, or is beyond 1e300 or below 1e-290, are
left out (tests/stdlib/functions/special_ends.dsl has those). Beside the value stands the condition: how many
times an argument's relative change its own is. The error of SciPy at the same points is measured
here, that of Atled by tests/stdlib/functions/special_table.dsl.
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

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tests", "stdlib", "functions", "_special_reference.dsl")


class TooSlow(Exception):
    pass


def alarm(_signal, _frame):
    raise TooSlow


signal.signal(signal.SIGALRM, alarm)
mp.mp.dps = 40
for module in ("functions", "distributions"):  # they add their rows, in this order
    importlib.import_module(module)

# ---- measuring and writing


def safely(value, args):
    """mpmath's value, or nothing where it is not sure within its time."""
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
        out.write(f"""# _special_reference.dsl - made by scripts/docs/special/reference.py: functions, arguments, values of mpmath, conditions,
# and the worst error of SciPy.
#
# mpmath {mp.__version__}, SciPy {scipy.__version__}. `x` has an array for each argument; `scipy` is inf where SciPy gives NaN or an infinity,
# and -1 where it has no such function.

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
            conditions = ", ".join(f"{f[2]:.3g}" if f[2] >= 1000 else "1.0" for f in found)
            out.write(f"  y = [{', '.join(literal(f[1]) for f in found)}],\n  condition = [{conditions}])\n")
        out.write("rows = (" + ", ".join(keys) + ")\n")


main()
