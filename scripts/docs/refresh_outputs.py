#!/usr/bin/env python3
"""refresh_outputs.py - writes what programs say now into the pages that quote it.

Use: scripts/docs/refresh_outputs.py [FILE.md...]      ATLED=build/atled unless set; all of docs/ when no file is named

Renews each ```text block that follows a ```dsl block, which `atled test --docs` compares with what the block prints, shows and complains
of. After a change of a message or of the IR's text: run it, and read the difference before keeping it.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```dsl([^\n]*)\n((?:(?!```).*\n)*?)```\n(\s*```text\n((?:(?!```).*\n)*?)```\n)?", re.M)


def run(atled, options, folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)
    done = subprocess.run([atled, *options, name], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=120, check=False)
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
                sys.exit(f"{path}: a block that is compared as a whole is marked `new`: {m.group(2)}")
            name = next((w[5:] for w in words if w.startswith("file=")), "example.dsl")
            options = ["--check-rules"] if "check-rules" in words else []
            parts += [page[at : m.start(4)], run(atled, options, folder, name, m.group(2)).rstrip("\n") + "\n"]
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
