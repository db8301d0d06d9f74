#!/usr/bin/env python3
"""test_editors.py - tests of the editor support in editors/.

Use: ATLED=path tests/cli/test_editors.py

Checks:
- The lists of words are those of the program.
- The regular expressions of the grammar compile and find their scopes.
- Every snippet is a valid program, formatted as by `atled fmt`.

The last line is "N passed, N failed".
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
atled = os.environ.get("ATLED", "build/atled")
passed = failed = 0


def check(good, what):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("failed:", what)


made = subprocess.run([sys.executable, "scripts/docs/editor_words.py", "--check", atled],
                      capture_output=True, text=True)
check(made.returncode == 0, "the lists of words: " + made.stdout + made.stderr
      + " (scripts/docs/editor_words.py writes them)")

folder = "editors/vscode/"
package = json.load(open(folder + "package.json", encoding="utf-8"))
contributes = package["contributes"]
for path in [contributes["languages"][0]["configuration"], contributes["grammars"][0]["path"],
             contributes["snippets"][0]["path"]]:
    check(isinstance(json.load(open(folder + path, encoding="utf-8")), dict), path)
pattern = contributes["problemMatchers"][0]["pattern"]["regexp"]
check(re.match(
    pattern, "a.dsl:2:3: warning: `half` is given a value that nothing uses [W0221]"
).group(4) == "warning", "the problem matcher")
check(re.match(pattern, "a.dsl:2:3: no `x` [E0201]").group(6) == "E0201", "the problem matcher")

grammar = json.load(open(folder + contributes["grammars"][0]["path"], encoding="utf-8"))
repository = grammar["repository"]


def rules(node):
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            yield from rules(part)


for rule in rules(grammar):
    for key in ("match", "begin", "end"):
        if isinstance(rule.get(key), str):
            try:
                re.compile(rule[key])
                passed += 1
            except re.error as e:
                check(False, f"{rule[key]}: {e}")
    if isinstance(rule.get("include"), str):
        check(rule["include"][1:] in repository, rule["include"])


def scopes(line):
    """The scopes of a line without strings.

    As in an editor, the first rule that matches at a position gives the scope.
    """
    order = [r for part in repository["code"]["patterns"]
             for r in rules(repository[part["include"][1:]]) if "match" in r]
    at, found = 0, {}
    while at < len(line):
        best = min(((m.start(), k, m, r) for k, r in enumerate(order)
                    if (m := re.compile(r["match"]).search(line, at)) and m.end() > at),
                   default=None, key=lambda x: x[:2])
        if not best:
            break
        _, _, m, rule = best
        if "name" in rule:
            found.setdefault(m.group().strip(), rule["name"].removesuffix(".atled"))
        for group, name in rule.get("captures", {}).items():
            if m.group(int(group)):
                found.setdefault(m.group(int(group)), name["name"].removesuffix(".atled"))
        at = m.end()
    return found


for line, word, scope in [
    ("for i in 0..n { s += sin(x) }  # sum", "for", "keyword.control"),
    ("for i in 0..n { s += sin(x) }  # sum", "in", "keyword.operator.word"),
    ("for i in 0..n { s += sin(x) }  # sum", "sin", "support.function"),
    ("for i in 0..n { s += sin(x) }  # sum", "# sum", "comment.line.number-sign"),
    ("for i in 0..n { s += sin(x) }  # sum", "0", "constant.numeric"),
    ("area(w, h = 2) = w * h", "area", "entity.name.function"),
    ("problem heat(k = 1.0) {", "problem", "keyword.declaration"),
    ("problem heat(k = 1.0) {", "heat", "entity.name.type"),
    ("  u == 0 at t = 0", "at", "keyword.control"),
    ("x[0..n by 2]", "by", "keyword.control"),
    ("at(x) = by(x)", "at", "entity.name.function"),
    ("z = 3.5e-2im + true", "3.5e-2im", "constant.numeric"),
    ("z = 3.5e-2im + true", "true", "constant.language"),
    ("f'(1.0)", "'", "keyword.operator.derivative"),
    ("r.for + r.sin", "r", "variable.other"),
    ("x: f64[n]", "f64", "support.type"),
]:
    check(scopes(line).get(word) == scope,
          f"`{word}` in `{line}`: {scopes(line).get(word)}, not {scope}")

for name, snippet in json.load(open(folder + contributes["snippets"][0]["path"],
                                    encoding="utf-8")).items():
    text = re.sub(r"\$\{\d+:([^}]*)\}", r"\1", "\n".join(snippet["body"]))
    text = re.sub(r"\$\d", "1", text) + "\n"
    out = subprocess.run([atled, "fmt", "-"], input=text, capture_output=True, text=True)
    check(out.returncode == 0 and out.stdout == text,
          f"the snippet {name}: {out.stdout}{out.stderr}")

if shutil.which("vim"):
    out = tempfile.NamedTemporaryFile(suffix=".dsl")
    subprocess.run(
        ["vim", "-Nu", "NONE", "-es", "-c", "set rtp^=editors/vim",
         "-c", "filetype plugin indent on", "-c", "syntax on", "-c", "edit examples/newton.dsl",
         "-c", "set ft=atled", "-c", "normal gg=G", "-c", f"write! {out.name}", "-c", "qa!"],
        capture_output=True, timeout=60)
    check(open(out.name, encoding="utf-8").read()
          == open("examples/newton.dsl", encoding="utf-8").read(), "the indentation of vim")
else:
    print("skip: vim is not here")

print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
