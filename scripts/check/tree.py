#!/usr/bin/env python3
"""tree.py - check of the limits that the sources keep.

Use: scripts/check/tree.py                checks the tree
     scripts/check/tree.py --self-test    checks this script

- A line of code has at most 100 columns, a line of a comment or page 80. A tab
  counts 4. Tables, diagrams, links and what cannot be broken are exempt.
- A C file or library file has at most 1,000 lines, a C function at most 120.
- A typedef name is defined in one file only, and a folder of C has at most 20
  sources, a folder of the library at most 15 modules.

The last line is "N passed, N failed", one for each file and folder.
"""
import os
import re
import sys
import tempfile

CODE, PROSE, FILE, FUNCTION = 100, 80, 1000, 120
SOURCES, MODULES = 20, 15
MODULE_FOLDERS = "lang data parser autodiff backend solvers api repl".split()
FOLDERS = MODULE_FOLDERS + "include examples stdlib tests scripts bench docs".split()
# A row of a table or diagram in a comment: columns apart by blanks or bars.
TABLE = re.compile(r"\S {2,}\S.* {2,}\S|\|.*\||[─━│▶_/\\]{2}|^\W+$")


def width(line):
    return len(line.expandtabs(4))


def c_faults(lines):
    inside = False
    start = head = None
    for k, line in enumerate(lines, 1):
        text = line.strip()
        comment = inside or text.startswith("/*")
        inside = ("*/" not in text.rsplit("/*", 1)[-1] if "/*" in text
                  else inside and "*/" not in text)
        limit = PROSE if comment else CODE
        if width(line) > limit and not (comment and TABLE.search(text.lstrip("/* "))):
            if len(text.lstrip("/* ").split()) > 1 and not line.endswith("\\"):
                yield k, f"{width(line)} columns, more than {limit}"
        if not comment and re.match(r"[A-Za-z][^;]*\([^;]*$", line):
            head = k
        if not comment and head and text.endswith((";", "{")):
            start, head = (head if text.endswith("{") else start), None
        if line == "}" and start:
            if k - start > FUNCTION:
                yield start, f"a function of {k - start} lines, more than {FUNCTION}"
            start = None


def dsl_faults(lines):
    for k, line in enumerate(lines, 1):
        text = line.strip()
        comment = text.startswith("#")
        if comment and (text.startswith("#    ") or TABLE.search(text[1:].strip())):
            continue  # an example, or a table
        limit = PROSE if comment else CODE
        if width(line) > limit and len(text.split()) > 2:
            yield k, f"{width(line)} columns, more than {limit}"


def page_faults(lines):
    code = False
    for k, line in enumerate(lines, 1):
        if re.match(r" *(```|~~~)", line):
            code = not code
        elif code or re.match(r" *(\||#|<|!\[)|    ", line) or width(line) <= PROSE:
            continue
        elif len(re.findall(r"(?:`+[^`]*`+|\[[^\]]*\]\([^)]*\)|\S)+", line)) > 2:
            yield k, f"{width(line)} columns, more than {PROSE}"


def script_faults(lines):
    for k, line in enumerate(lines, 1):
        limit = PROSE if line.lstrip().startswith("#") and not line.startswith("#!") else CODE
        if width(line) > limit and not TABLE.search(line.strip("# \t")) and len(line.split()) > 2:
            yield k, f"{width(line)} columns, more than {limit}"


KINDS = {
    ".c": c_faults, ".h": c_faults, ".def": c_faults, ".dsl": dsl_faults, ".md": page_faults,
    ".sh": script_faults, ".py": script_faults,
}  # fmt: skip
TYPEDEF = re.compile(
    r"^typedef (?:struct|enum|union)\b[^;{]*\{(?:[^{}]|\{[^{}]*\})*\}\s*(\w+);", re.M)


def files_of(root):
    for folder in FOLDERS:
        for path, folders, names in os.walk(os.path.join(root, folder)):
            folders.sort()
            folders[:] = [f for f in folders if f not in ("venv", "corpus", "__pycache__")]
            for name in sorted(names):
                yield os.path.relpath(os.path.join(path, name), root)
    yield from (n for n in ("README.md",) if os.path.exists(os.path.join(root, n)))


def check(root):
    faults, count, homes, sizes = [], 0, {}, {}
    for path in files_of(root):
        kind = os.path.splitext(path)[1]
        if kind not in KINDS or (path.startswith("tests/") and kind == ".dsl"):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        lines = text.split("\n")
        count += 1
        faults += [(path, k, what) for k, what in KINDS[kind](lines)]
        source = kind in (".c", ".h", ".dsl")
        if source and len(lines) - 1 > FILE:
            faults.append((path, 1, f"{len(lines) - 1} lines, more than {FILE}"))
        if kind in (".c", ".h") and path.split("/")[0] in MODULE_FOLDERS:
            for m in TYPEDEF.finditer(text):
                other = homes.setdefault(m[1], path)
                if other != path:
                    at = text[: m.end()].count("\n") + 1
                    faults.append((path, at, f"the type {m[1]} is defined in {other}, too"))
        if kind in (".c", ".dsl") and not path.startswith(("tests/", "examples/", "bench/")):
            sizes.setdefault((os.path.dirname(path), kind), []).append(path)
    for (folder, kind), paths in sizes.items():
        most = SOURCES if kind == ".c" else MODULES
        if len(paths) > most:
            faults.append((folder, 0, f"{len(paths)} sources, more than {most}"))
    for path, line, what in faults:
        print(f"{path}:{line}: {what}")
    bad = len({path for path, _, _ in faults})
    print(f"{count - bad} passed, {bad} failed")
    return bad == 0 and count > 0


# A path, its text, and whether it has a fault.
LONG = "word " * 17
TWICE = "typedef struct Twice { int x; } Twice;\n"
CASES = [
    ("lang/a.c", "int x;\n", False),
    ("lang/a.c", f"/* {LONG}*/\n", True),
    ("lang/a.c", f"/*\n * {LONG}\n */\n", True),
    ("lang/a.c", f"int x; /* {LONG}*/\n", False),
    ("lang/a.c", f"int x; /* {LONG}{LONG}*/\n", True),
    ("lang/a.c", f"/*\n * a    b    {LONG}\n */\n", False),
    ("lang/a.c", "int x;\n" * 1001, True),
    ("lang/a.c", "int x;\n" * 1000, False),
    ("lang/a.c", "int f(void) {\n" + "\tx();\n" * 121 + "}\n", True),
    ("lang/a.c", "int f(void) {\n" + "\tx();\n" * 119 + "}\n", False),
    ("lang/a.c", "int f(int a,\n      int b) {\n" + "\tx();\n" * 121 + "}\n", True),
    ("lang/a.c", "int f(int a,\n      int b);\n" + "int x;\n" * 121 + "int g(void) {\n}\n", False),
    ("lang/a.c", "typedef struct T { int x; } T;\n", False),
    ("lang/b/a.c", TWICE, True),
    ("stdlib/core/a.dsl", f"# {LONG}\n", True),
    ("stdlib/core/a.dsl", f"#     {LONG}\n", False),
    ("stdlib/core/a.dsl", f"x = {LONG.replace(' ', ' + ')}1\n", True),
    ("docs/a.md", f"{LONG}\n", True),
    ("docs/a.md", f"| {LONG}|\n", False),
    ("docs/a.md", f"```\n{LONG}\n```\n", False),
    ("docs/a.md", f"# {LONG}\n", False),
    ("scripts/a.sh", f"# {LONG}\n", True),
    ("scripts/a.py", f"x = '{LONG}{LONG}'\n", True),
]


def self_test():
    failed = 0
    for path, text, wrong in CASES:
        with tempfile.TemporaryDirectory() as root:
            for name, content in ((path, text), ("lang/z/twice.h", TWICE)):
                if name != path and "Twice" not in text:
                    continue
                os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(content)
            out, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="utf-8")
            good = check(root)
            sys.stdout = out
        if good == wrong:
            failed += 1
            print(f"tree: {path} should be {'at fault' if wrong else 'good'}:\n{text[:120]}")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return failed == 0


if __name__ == "__main__":
    argument = sys.argv[1] if len(sys.argv) > 1 else None
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    good = self_test() if argument == "--self-test" else check(root)
    sys.exit(not good)
