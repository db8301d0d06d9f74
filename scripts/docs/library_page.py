#!/usr/bin/env python3
"""library_page.py - generator of docs/reference/library.md.

Method: collects the help texts of the builtins and the doc comments of stdlib/.
`make check` runs each example in a new session, so every one works by itself.

Use: scripts/docs/library_page.py [--check] [PROGRAM]

PROGRAM is $ATLED by default, or build/atled. With --check nothing is written.
The check fails when the page is out of date, or when a public name has no text
or no example.

A doc comment begins with "signature: sentence"; several signatures are separated
by commas. Lines indented by 4 or more blanks are the example, the others details.
"""

import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

from wrap import wrapped

# The first builtin under each heading.
HEADINGS = {
    "abs": "Element by element",
    "where": "Choosing",
    "bool": "Dtypes",
    "zeros": "Making arrays",
    "len": "Shapes",
    "sum": "Reductions",
    "sort": "Sorting and searching",
    "cholesky": "Linear algebra",
    "fft": "Fourier transforms",
    "rand": "Random numbers",
    "jvp": "Derivatives and batching",
    "print": "Text, structures, reflection",
}

INTRODUCTION = """# The library

Made by `scripts/docs/library_page.py` from the texts that `atled doc NAME`
shows; change those, not this page. Every name is there without `use`. Arguments
behind `;` must be named. Each example runs as it stands (`make check` runs them
all); what stands behind `#>` is what is shown, behind `#~` what it is near to.

<!-- As users run it only: tests/stdlib has every function compiled. -->

# Builtins"""

# These modules come first; the others follow by name.
FIRST = (
    "prelude arrays text stats linalg roots quad oscillatory ode pde pinn optim nn plot".split()
)

# A line of a comment that begins so describes an option.
OPTION = re.compile(r"[a-z_]\w*(?:, [a-z_]\w*)*(?: = [^ :]+)?: ")
# The same after a sentence.
INNER = re.compile(r"(?<=[.;])[ \n]([a-z_]\w*(?:, [a-z_]\w*)*(?: = [^ :]+)?): ")

page, faults = [], []


def split(text):
    """Splits a help text at the first ": " outside brackets and quotes.

    Returns the signatures and the rest; without signatures, "" and the text.
    """
    depth = quoted = 0
    for i, c in enumerate(text):
        if c == '"':
            quoted = not quoted
        depth += (c in "([") - (c in ")]")
        if text.startswith(": ", i) and not depth and not quoted:
            return text[:i], text[i + 2 :]
    return "", text


def mentions(text, name):
    return name in re.split(r"[^A-Za-z0-9_\u0080-\uffff]+", split(text)[0])


def item(text, example):
    signatures, sentence = split(text)
    page.append(f"\n### `{signatures or sentence}`\n")
    if signatures:
        summary, *options = INNER.sub(r"\n\1: ", sentence).split("\n")
        page.append(summary)
        page.extend([""] if options else [])
        page.extend("- `{}`: {}".format(*o.split(": ", 1)) for o in options)
    if example:
        page.append("\n```dsl new\n" + "\n".join(example) + "\n```")


class Comment:
    """A comment without its marks: the details as one string, and the example."""

    def __init__(self):
        self.text, self.example, self.lines = "", [], 0

    def add(self, line):
        self.lines += 1
        if line.startswith("    "):
            self.example.append(line[4:])
        elif not line and self.example:
            self.example.append("")
        else:
            line = line.lstrip(" ")
            self.text += ("\n" if OPTION.match(line) else " " if self.text else "") + line


def builtins(program):
    def ask(*words):
        return subprocess.run(
            [program, *words], capture_output=True, text=True, check=True
        ).stdout.splitlines()

    written = {
        name
        for file in pathlib.Path("stdlib").rglob("*.dsl")
        for name in re.findall(r"^(\w+)(?=\(| *=)", file.read_text(), re.M)
    }
    names = [n for n in json.loads(ask("info", "--json")[0])["names"] if n not in written]
    for row in map(json.loads, ask("doc", "--json", *names)):
        name, (sentence, *lines) = row["name"], row["help"].split("\nderivative ")[0].split("\n")
        details = Comment()
        for line in lines:
            details.add(line)
        if name in HEADINGS:
            page.append(f"\n## {HEADINGS[name]}")
        if not details.example:
            faults.append(f"the builtin {name} has no example in stdlib/core/builtins.dsl")
        item(sentence + (". " + details.text if details.text else ""), details.example)
    for name in re.findall(
        r"^# (\S+)$", pathlib.Path("stdlib/core/builtins.dsl").read_text(), re.M
    ):
        if name not in names:
            faults.append(f"stdlib/core/builtins.dsl has an example of {name}, which is no builtin")


def module(file):
    lines = file.read_text().splitlines()
    head = " ".join(
        line[2:] for line in itertools.takewhile(lambda line: line.startswith("# "), lines)
    )
    page.append("\n# {}\n\n{}".format(*re.match(r"(\w+)\.dsl - (.*)$", head).groups()))
    section, comment, of = "", Comment(), None
    for line in lines:
        if line.startswith("# ---- "):
            section, comment = line[7:], Comment()
        elif line.startswith("#"):
            comment.add(line[2:])
        elif not line:
            comment = Comment()
        elif line[0] not in " \t})":
            line = line.removeprefix("problem ")
            name = re.match(r"[^ (=]+(?=\(| *=)", line)
            if name and not re.match(r"derivative|_", line):
                name = name.group()
                if comment.lines:
                    of = None
                if comment.lines and split(comment.text)[0] and mentions(comment.text, name):
                    of = comment
                    if section:
                        page.append(f"\n## {section[0].upper()}{section[1:]}")
                        section = ""
                    item(of.text, of.example)
                if not of or not mentions(of.text, name):
                    faults.append(f"{file}: {name} has no doc comment")
                elif not of.example:
                    faults.append(f"{file}: {name} has no example")
            comment = Comment()


def main():
    os.chdir(pathlib.Path(__file__).parents[2])
    check = "--check" in sys.argv
    program = next(
        (a for a in sys.argv[1:] if not a.startswith("-")), os.environ.get("ATLED", "build/atled")
    )
    page.append(INTRODUCTION)
    builtins(program)
    files = {f.stem: f for f in pathlib.Path("stdlib").rglob("*.dsl")}
    for name in FIRST + sorted(files.keys() - {*FIRST, "builtins", "calculus"}):
        module(files[name])
    made, home = wrapped("\n".join(page) + "\n"), pathlib.Path("docs/reference/library.md")
    for fault in faults:
        print(fault, file=sys.stderr)
    if not check:
        home.write_text(made)
        return
    stale = home.read_text() != made
    if stale:
        print(f"{home} is out of date: run scripts/docs/library_page.py")
    failed = stale + bool(faults)
    print(f"{2 - failed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
