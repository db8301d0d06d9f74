#!/usr/bin/env python3
"""coverage.py - which branches of the library the tests execute.

Use: scripts/check/coverage.py build-coverage [--missed FILE]

Needs a build of `make coverage` and gcov. A branch is one way out of a decision
in the machine code. It counts as executed when any test took it. A line of a
header counts once, whichever file includes it. Prints a row for each folder and
the total. --missed prints the lines of FILE with branches that no test took.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

ROOMS = ("api", "autodiff", "backend", "data", "lang", "parser", "repl", "solvers")


def measured(notes):
    """The branches of one object: {(file, line, index): count}, and its lines."""
    got = subprocess.run(
        ["gcov", "--json-format", "--stdout", "--branch-probabilities", str(notes)],
        capture_output=True, text=True, check=False)
    branches, lines = {}, {}
    for text in got.stdout.splitlines():
        for file in json.loads(text)["files"]:
            name = os.path.relpath(file["file"])
            if name.split("/")[0] not in ROOMS:
                continue
            for line in file["lines"]:
                key = name, line["line_number"]
                lines[key] = max(lines.get(key, 0), line["count"])
                for k, branch in enumerate(line["branches"]):
                    key_k = (*key, k)
                    branches[key_k] = max(branches.get(key_k, 0), branch["count"])
    return branches, lines


def merge(parts):
    branches, lines = {}, {}
    for some, of_lines in parts:
        for into, new in ((branches, some), (lines, of_lines)):
            for key, count in new.items():
                into[key] = max(into.get(key, 0), count)
    return branches, lines


def table(branches, lines):
    rows = collections.defaultdict(lambda: [0, 0, 0, 0])
    for at, counts in ((0, branches), (2, lines)):
        for key, count in counts.items():
            for folder in ("total", os.path.dirname(key[0])):
                rows[folder][at] += count > 0
                rows[folder][at + 1] += 1
    print("| folder | branches | executed | lines executed |\n| --- | --- | --- | --- |")
    for folder in sorted(rows, key=lambda f: (f == "total", f)):
        taken, all_of, run, written = rows[folder]
        print(f"| {folder} | {all_of} | {100 * taken / max(all_of, 1):.1f} % |"
              f" {100 * run / max(written, 1):.1f} % |")


def missed(branches, lines, name):
    left = collections.Counter()
    for (file, line, _), count in branches.items():
        left[line] += file == name and count == 0
    text = pathlib.Path(name).read_text(encoding="utf-8").split("\n")
    for line in sorted(k for k, n in left.items() if n):
        never = "never run" if lines.get((name, line), 0) == 0 else f"{left[line]} not taken"
        print(f"{name}:{line}: {never}: {text[line - 1].strip()}")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("build", type=pathlib.Path)
    options.add_argument("--missed")
    o = options.parse_args()
    notes = sorted(o.build.rglob("*.gcno"))
    if not notes:
        sys.exit(f"{o.build}: no .gcno file; `make coverage` writes them")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        branches, lines = merge(pool.map(measured, notes))
    if o.missed:
        missed(branches, lines, o.missed)
    else:
        table(branches, lines)


if __name__ == "__main__":
    main()
