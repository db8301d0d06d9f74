#!/usr/bin/env python3
"""test_statements.py - random problems with known solutions, by every method.

Use: test_statements.py [--count 100] [--first 0] [--jobs N] [--limit 300]
     [--brief] [--features] [--shrink] [--table FILE] | --show SEED

Environment: ATLED, the program; default build/atled.

--brief     solves each problem by one method, chosen by its number
--features  also uses random features
--shrink    reduces a failing problem to the simplest one with the same fault
--table     writes the distribution of the ratio of estimate to error, as in
            docs/methods/trust.md, and prints each smooth solution whose
            estimate is wrong by more than a factor of ten
--show      prints one problem and the results of all methods

Each problem is solved by each method with `estimate = true`. Faults:
  wrong     the error exceeds ten times the estimate (three times for a solution
            that is not smooth), plus a tolerance
  nan       a value that is not finite, without an error message
  hung      no answer within the time limit
  internal  a message that indicates a bug in the program

Contract:
- A refusal is no fault. A missing estimate (nan, or none) is no fault either,
  but at most a tenth of all estimates may be missing.
- The last line counts problems: "N passed, N failed".
- From --first 0, with --count of at least 100, problems that once failed are
  added.
"""

import argparse
import concurrent.futures
import math
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import statements  # noqa: E402

ATLED = os.environ.get("ATLED", "build/atled")
# Later problems that once failed, each for a different reason.
ONCE_WRONG = (904, 1003, 1805, 1945, 2263, 72416)
WITH_FEATURES = (72416,)  # those that failed with random features
BRIEF = False
FEATURES = False  # random features, which are slow, for every fourth problem
TOLERANCE = 1e-6  # the solvers' own relative tolerance

METHODS = {
    "x": [
        "default",
        "collocation()",
        "shooting()",
        "fd(n = 81)",
        "fd(n = 81, order = 2)",
        "chebyshev(24)",
        "fem(0.02)",
        "fem(0.05, order = 2)",
        "rfm()",
    ],
    "t": ["default", "tsit5()", "dop853()", "bdf()", "radau5()", "rodas5p()"],
    "t x": [
        "default",
        "fd(n = 81)",
        "fd(n = 81, order = 2)",
        "chebyshev(24)",
        "fem(0.02)",
        "fv(n = 100)",
        "rfm()",
    ],
    "t x periodic": [
        "default",
        "fd(n = 64)",
        "fourier(32)",
        "fourier(32, time = cnab2(0.01))",
        "fv(n = 100)",
        "rfm()",
    ],
    "x modes": [
        "default",
        "fd(n = 41)",
        "fd(n = 81, order = 2)",
        "chebyshev(24)",
        "chebyshev(40)",
        "fem(0.05)",
        "fem(0.1, order = 2)",
    ],
    "x y modes": ["default", "fd(n = 21)", "chebyshev(12)", "fem(0.08)", "fem(0.15, order = 2)"],
    "x periodic": ["default", "fd(n = 64)", "fourier(32)", "rfm()", "collocation()"],
    "x y": ["default", "fd(n = 31)", "chebyshev(16)", "fem(0.08)", "fem(0.15, order = 2)", "rfm()"],
    "x y z": ["default", "fd(n = 11)", "chebyshev(7)", "fem(0.3)", "fem(0.5, order = 2)", "rfm()"],
    "t x y": ["fd(n = 21)", "chebyshev(10)", "fem(0.12)"],
    "t r": ["default", "fd(n = 41)", "chebyshev(16)", "fem(0.05)"],
    "r": [
        "default",
        "collocation()",
        "shooting()",
        "fd(n = 81)",
        "chebyshev(16)",
        "fem(0.05)",
        "rfm()",
    ],
}


def methods_of(c, s):
    """The methods of a problem.

    Scales the element size to the domain, and selects random features for some
    problems only, because they are slow.
    """
    names = [d[0] for d in s.coords]
    kind = " ".join(names) + (" periodic" if any(d[3] for d in s.coords) else "")
    kind += " modes" if s.values else ""
    size = max([d[2] - d[1] for d in s.coords if d[0] != "t"] or [1.0])
    fit = lambda m: re.sub(r"fem\(([\d.]+)", lambda h: f"fem({round(float(h[1]) * size, 9)!r}", m)
    features = c.seed in WITH_FEATURES or (FEATURES and c.seed % 4 == 0)
    methods = [m for m in METHODS[kind] if m != "rfm()" or features]
    if BRIEF and c.seed not in ONCE_WRONG:
        methods = [methods[c.seed % len(methods)]]
    return [fit(m) for m in methods]


# Strides of sample points along each axis: the points are on no grid.
APART = (0.02468, 0.6180339887498949, 0.7548776662466927)

# The relative error, as a solution's `error` defines it. In space: the maximum
# over fields and three times, relative to the field's norm at that time, or for
# waves to its largest norm. In t alone: that of all fields over the interval,
# or that at the end relative to the norm in the last thousandth.
OFF = {
    True: """off(s, got, right) = {
  size = u -> if s.method == "fv" { sum(abs(u); axis = 1) } else { norm(u; axis = 1) }
  own = size(right)
  max(size(got - right)/max(own, LEAST*max(own)))
}""",
    False: """off(s, got, right) = {
  (gaps, sizes) = (norm(got - right; axis = 0), norm(right; axis = 0))
  max(norm(gaps)/norm(sizes), gaps[-1]/max(sizes[40..]))
}""",
}


# Eigenvalues: errors relative to the eigenvalue, or to a thousandth of the gap
# to the next one. Returns the error with the largest ratio to its estimate.
MODES = """sizes(v) = {
  apart = concat(diff(v), [v[-1]])
  max(abs(v), 1e-3*min(apart, concat(apart[..1], apart[..-1])))[..6]
}
worst(s, found, v) = {
  off = abs(found - v[..6])/sizes(v)
  k = argmax(off/(s.errors + 1e-9))
  (off[k], s.errors[k])
}"""


def program_of_modes(c, s):
    out = [s.text(), MODES, f"right = {s.values!r}"]
    for m in methods_of(c, s):
        call = "solve(p)" if m == "default" else f"solve(p, {m})"
        out.append(f"""print("> {m}")
try {{
  s = {call}
  (e, said) = worst(s, s.{"values" if len(s.coords) == 1 else "λ"}, right)
  print("= {{e}} {{said}}")
}} catch m {{ print("! {{m}}") }}""")
    return "\n".join(out) + "\n"


def program(c, s):
    """A program that prints each method's error and estimate, or refusal."""
    if s.values:
        return program_of_modes(c, s)
    out = [s.text()]
    names = [c[0] for c in s.coords]
    for f, e in zip(s.fields, s.exact):
        out.append(f"{f}_exact({', '.join(names)}) = {e.text()} + 0.0")
    space = [c for c in s.coords if c[0] != "t"]
    end = [c[2] for c in s.coords if c[0] == "t"]
    if not space:
        times = f"linspace({0.05 * end[0]!r}, {end[0]!r}, 40)"
        out.append(f"times = concat({times}, linspace({0.999 * end[0]!r}, {end[0]!r}, 5))")
        right = lambda f: f"[{f}_exact(t) for t in times]"
        got = lambda f: f"s.{f}(times) + 0.0"
    else:
        # points that are on no grid
        lists = [
            f"[{lo!r} + {hi - lo!r}*((0.5 + k*{APART[i]!r}) % 1.0) for k in 0..41]"
            for i, (_, lo, hi, _) in enumerate(space)
        ]
        out.append(f"places = [{', '.join(lists)}]")
        times = [[repr(e * k / 3)] for e in end for k in (1, 2, 3)] or [[]]
        of = lambda f, t, k: f"{f}({', '.join(t + [f'places[{i}{k}]' for i in range(len(space))])})"
        rows = lambda each: f"stack({', '.join(map(each, times))})"
        right = lambda f: rows(lambda t: f"[{of(f + '_exact', t, ', k')} for k in 0..41]")
        got = lambda f: rows(lambda t: f"ravel({of('s.' + f, t, '')} + 0.0)")
    waves = c.family in ("wave", "transport") or (c.family == "loop" and c.options["k"] == "none")
    least = "1.0" if waves else "1e-3"
    out.append(OFF[len(space) > 0].replace("LEAST", least))
    for f in s.fields:
        out.append(f"{f}_right = {right(f)}")
    if space:
        off = ", ".join(f"off(s, {got(f)}, {f}_right)" for f in s.fields)
        off = f"max({off})" if len(s.fields) > 1 else off
    else:
        off = (f"off(s, stack({', '.join(map(got, s.fields))}), "
               f"stack({', '.join(f + '_right' for f in s.fields)}))")
    for m in methods_of(c, s):
        call = "solve(p; estimate = true)" if m == "default" else f"solve(p, {m}; estimate = true)"
        out.append(f"""print("> {m}")
try {{
  s = {call}
  print("= {{{off}}} {{if has(s, "error") {{ s.error }} else {{ "none" }}}}")
}} catch m {{ print("! {{m}}") }}""")
    return "\n".join(out) + "\n"


class Result:
    def __init__(self, method, error=None, estimate=None, warned=False, refusal=None, hung=False):
        self.method, self.error, self.estimate = method, error, estimate
        self.warned, self.refusal, self.hung = warned, refusal, hung

    def fault(self, smooth, tolerance):
        if self.hung:
            return "hung"
        if self.refusal is not None:
            return (
                "internal"
                if re.search(
                    r"E0999|out of range|cannot be (negative|worked out)|internal|do not agree",
                    self.refusal,
                )
                else None
            )
        if not math.isfinite(self.error):
            return "nan"
        if not self.is_estimated():
            return None
        factor = 10 if smooth else 3
        if self.error > factor * self.estimate + 10 * tolerance:
            return "wrong"
        return None

    def is_estimated(self):
        return self.estimate is not None and self.estimate >= 0

    def words(self):
        if self.hung:
            return f"{self.method}: no answer"
        if self.refusal is not None:
            return f"{self.method}: {self.refusal}"
        return (f"{self.method}: error {self.error:.2e}, estimate "
                f"{self.estimate if self.estimate is None else format(self.estimate, '.2e')}")


def solve(c, limit):
    s = statements.build(c)
    text = program(c, s)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.dsl")
        with open(path, "w") as f:
            f.write(text)
        try:
            run = subprocess.run(
                [ATLED, "--time-limit=%d" % limit, path],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=limit + 30,
            )
            out, status = run.stdout.decode(errors="replace"), run.returncode
        except subprocess.TimeoutExpired as e:
            out, status = (e.stdout or b"").decode(errors="replace"), -1
    results, method, said = [], None, False
    for row in out.split("\n"):
        if row.startswith("> "):
            method, said = row[2:], False
        elif row.startswith("= ") and method:
            e, *parts = re.findall(r"none|nan|-?inf|[-+\d.]+(?:e[-+]?\d+)?", row[2:])
            parts = [float(q) for q in parts if q != "none"]
            results.append(
                Result(
                    method,
                    float(e),
                    max(parts, key=lambda q: math.inf if q != q else q) if parts else None,
                )
            )
            said = True
        elif row.startswith("! ") and method:
            results.append(Result(method, refusal=row[2:]))
            said = True
    if method is None or not said:
        if status in (5, -1):
            results.append(Result(method or "?", hung=True))
        else:
            results.append(
                Result(method or "?", refusal=f"internal: exit {status}: " + out.strip()[-300:])
            )
    return s, results


def tolerance_of(s):
    """The tolerance of iterative methods.

    Eigenvalues are computed directly, and the exact ones are known to 1e-10.
    """
    return 1e-10 if s.values else TOLERANCE


def faults_of(c, limit):
    s, results = solve(c, limit)
    faults = {(r.method, r.fault(s.smooth, tolerance_of(s))) for r in results}
    return s, results, {f for f in faults if f[1]}


def shrink(c, wanted, limit):
    """The simplest problem with one of the same faults."""
    going = True
    while going:
        going = False
        for simple in statements.simpler(c):
            try:
                _, _, faults = faults_of(simple, limit)
            except (KeyError, ZeroDivisionError, OverflowError):
                continue
            if faults & wanted:
                c, going = simple, True
                break
    return c


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--count", type=int, default=100)
    ask.add_argument("--first", type=int, default=0)
    ask.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    ask.add_argument("--shrink", action="store_true")
    ask.add_argument("--show", type=int)
    ask.add_argument("--table")
    ask.add_argument(
        "--limit", type=int, default=300, help="seconds for one statement by all methods"
    )
    ask.add_argument("--brief", action="store_true", help="by one method each")
    ask.add_argument("--features", action="store_true", help="by random features as well")
    o = ask.parse_args()
    global FEATURES, BRIEF
    FEATURES, BRIEF = o.features, o.brief
    if o.show is not None:
        c = statements.draw(o.show)
        s, results, _ = faults_of(c, o.limit)
        print(program(c, s))
        print("smooth" if s.smooth else "not smooth")
        for r in results:
            print(r.words(), r.fault(s.smooth, tolerance_of(s)) or "")
        return 0
    passed = failed = 0
    rows, kinds = [], {}
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        seeds = list(range(o.first, o.first + o.count))
        if o.first == 0 and o.count >= 100:
            seeds += [n for n in ONCE_WRONG if n >= o.count]
        for seed, (s, results, faults) in zip(
            seeds, pool.map(lambda n: faults_of(statements.draw(n), o.limit), seeds)
        ):
            c = statements.draw(seed)
            for r in results:
                rows.append((seed, c.family, s.smooth, r))
            if not faults:
                passed += 1
                continue
            failed += 1
            print(f"seed {seed}: {c.key()}{'' if s.smooth else ' (not smooth)'}")
            for r in results:
                f = r.fault(s.smooth, tolerance_of(s))
                if f:
                    kinds[(r.method, f)] = kinds.get((r.method, f), 0) + 1
                    print(f"  {f}: {r.words()[:200]}")
            if o.shrink:
                small = shrink(c, faults, o.limit)
                print("  simplest:", small.key())
                print(statements.build(small).text())
            sys.stdout.flush()
    solved = [r for _, _, _, r in rows if r.error is not None]
    unknown = sum(1 for r in solved if not r.is_estimated())
    print(f"{len(solved)} solutions, {unknown} without an estimate")
    if unknown > 0.1 * len(solved):
        print("too many without an estimate")
        failed += 1
    if kinds:
        print("faults by method:")
        for (m, f), n in sorted(kinds.items(), key=lambda kv: -kv[1]):
            print(f"  {n:5d}  {f:8s} {m}")
    if o.table:
        write_table(o.table, rows)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


def write_table(path, rows):
    """Writes the distribution of the ratio of estimate to error."""
    by = {}
    for seed, family, smooth, r in rows:
        if r.error is None or not r.is_estimated() or not math.isfinite(r.error):
            continue
        q = (r.estimate + TOLERANCE) / (r.error + TOLERANCE)
        by.setdefault((r.method.split("(")[0], smooth), []).append(q)
        if smooth and not 0.1 <= q <= 10:
            print(f"seed {seed}, {family}: estimate / error {q:.3g}, {r.words()}")
    with open(path, "w") as f:
        f.write(
            "| method | smooth | solved | below 0.1 | 0.1 to 0.33 | 0.33 to 3 | 3 to 10 "
            "| above 10 |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        )
        for (m, smooth), ratios in sorted(by.items()):
            edges = [0, 0.1, 1 / 3, 3, 10, math.inf]
            counts = [sum(1 for q in ratios if a <= q < b) for a, b in zip(edges, edges[1:])]
            f.write(
                f"| {m} | {'yes' if smooth else 'no'} | {len(ratios)} | "
                + " | ".join(f"{100 * n / len(ratios):.1f} %" for n in counts)
                + " |\n"
            )


if __name__ == "__main__":
    sys.exit(main())
