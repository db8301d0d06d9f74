#!/usr/bin/env python3
"""refresh_outputs.py - updates the program outputs quoted in pages.

Use: scripts/docs/refresh_outputs.py [FILE.md...]

The default is all of docs/. The program is $ATLED, or build/atled. Replaces each
```text block after a ```dsl block by the present output of the program.
`atled test --docs` compares these blocks. Run it after a change of a message or
of the text form of the IR, and review the difference.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(
    r"^```dsl([^\n]*)\n((?:(?!```).*\n)*?)```\n(\s*```text\n((?:(?!```).*\n)*?)```\n)?", re.M
)


def run(atled, options, folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)
    done = subprocess.run(
        [atled, *options, name],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return done.stdout


def renew(atled, path):
    with open(path, encoding="utf-8") as f:
        page = f.read()
    parts, at = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for m in BLOCK.finditer(page):
            words = m.group(1).replace(",", " ").split()
            if not m.group(3) or "skip" in words:
                continue
            if "new" not in words:
                sys.exit(
                    f"{path}: a block that is compared as a whole is marked `new`: {m.group(2)}"
                )
            name = next((w[5:] for w in words if w.startswith("file=")), "example.dsl")
            options = ["--check-rules"] if "check-rules" in words else []
            parts += [
                page[at : m.start(4)],
                run(atled, options, folder, name, m.group(2)).rstrip("\n") + "\n",
            ]
            at = m.end(4)
    parts.append(page[at:])
    new = "".join(parts)
    if new != page:
        with open(path, "w", encoding="utf-8") as f:
            f.write(new)
        print(f"renewed {path}")


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    atled = os.path.abspath(os.environ.get("ATLED", "build/atled"))
    for path in sys.argv[1:] or sorted(glob.glob("docs/*/*.md")):
        renew(atled, path)


main()
