#!/usr/bin/env python3
"""editor_words.py - lists of words for the editors of editors/.

Keywords and names come from the program, words of statements from
parser/syntax/lexer.c.

Use: scripts/docs/editor_words.py [--check] [PROGRAM]

PROGRAM is build/atled by default. With --check nothing is written; the exit
status says whether the lists are up to date. `make check` runs it so.
"""

import json
import re
import subprocess
import sys

check = "--check" in sys.argv
program = next((a for a in sys.argv[1:] if not a.startswith("-")), "build/atled")
info = json.loads(
    subprocess.run([program, "info", "--json"], capture_output=True, text=True, check=True).stdout
)
lexer = open("parser/syntax/lexer.c", encoding="utf-8").read()


def words_of(function):
    body = lexer[lexer.index(f"static bool {function}(") :]
    return re.findall(r'"(\w+)"', body[: body.index("};")])


constants = ["true", "false", "none"]
operators = ["and", "or", "not", "in"]
keywords = [w for w in info["keywords"] if w not in constants + operators]
opening, middle = words_of("is_opening_word"), words_of("is_middle_word")
types = ["bool", "i32", "i64", "f32", "f64", "c64", "c128"]
numbers = ["pi", "inf", "nan"]
names = sorted(
    {n for n in info["names"] if re.fullmatch(r"[A-Za-z]\w*", n)} - set(types) - set(numbers)
)


def choice(words):
    return "(?:" + "|".join(words) + ")"


# A word is delimited by characters that cannot be part of a name. Names may
# have letters of any script.
def word(words, behind=""):
    return rf"(?<![\w.]){choice(words)}(?!\w){behind}"


grammar = {
    "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
    "comment": "Made by scripts/docs/editor_words.py; change that instead.",
    "name": "Atled",
    "scopeName": "source.atled",
    "fileTypes": ["dsl"],
    "firstLineMatch": r"^#!.*\batled\b",
    "patterns": [{"include": "#code"}],
    "repository": {
        "code": {
            "patterns": [
                {"include": f"#{part}"}
                for part in [
                    "comment",
                    "string",
                    "definition",
                    "statement",
                    "keyword",
                    "constant",
                    "number",
                    "type",
                    "derivative",
                    "function",
                    "name",
                    "operator",
                ]
            ]
        },
        "comment": {"name": "comment.line.number-sign.atled", "match": r"#.*$"},
        "string": {
            "name": "string.quoted.double.atled",
            "begin": '"',
            "end": '"',
            "patterns": [
                {
                    "name": "constant.character.escape.atled",
                    "match": r'\\(?:u\{[0-9a-fA-F]+\}|[nrte"\\{}\'])',
                },
                {
                    "name": "meta.interpolation.atled",
                    "begin": r"\{",
                    "end": r"\}",
                    "beginCaptures": {
                        "0": {"name": "punctuation.section.interpolation.begin.atled"}
                    },
                    "endCaptures": {"0": {"name": "punctuation.section.interpolation.end.atled"}},
                    "patterns": [
                        {
                            "name": "constant.other.placeholder.atled",
                            "match": r"=?:[-+ 0#]*\d*(?:\.\d+)?[efgdxs](?=\})|=(?=\})",
                        },
                        {"include": "#block"},
                        {"include": "#code"},
                    ],
                },
            ],
        },
        "block": {
            "begin": r"\{",
            "end": r"\}",
            "patterns": [{"include": "#block"}, {"include": "#code"}],
        },
        "definition": {
            "match": r"(?:^|(?<=[;{]))\s*((?!\d)\w[\w₀-₉]*)"
            r"(?=\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*(?:->\s*[^=]*)?=(?!=))",
            "captures": {"1": {"name": "entity.name.function.atled"}},
        },
        "statement": {
            "patterns": [
                {
                    "match": rf"(?:^|(?<=[;{{]))\s*({choice(opening)})"
                    r"\s+(?=[\w\"(])((?!\d)\w[\w₀-₉]*)?",
                    "captures": {
                        "1": {"name": "keyword.declaration.atled"},
                        "2": {"name": "entity.name.type.atled"},
                    },
                },
                {
                    "name": "keyword.control.atled",
                    "match": rf"(?<=[\w)\].] ){choice(middle)}(?!\w)(?!\s*[=(,)])",
                },
            ]
        },
        "keyword": {
            "patterns": [
                {"name": "keyword.control.atled", "match": word(keywords)},
                {"name": "keyword.operator.word.atled", "match": word(operators)},
            ]
        },
        "constant": {
            "name": "constant.language.atled",
            "match": word(constants + numbers) + "|π|∞",
        },
        "number": {
            "patterns": [
                {
                    "name": "constant.numeric.atled",
                    "match": r"(?<![\w.])0(?:x[0-9a-fA-F_]+|o[0-7_]+|b[01_]+)",
                },
                {
                    "name": "constant.numeric.atled",
                    "match": r"(?<!\w)(?:\d[\d_]*(?:\.(?!\.)\d*)?|(?<!\.)\.\d+)"
                    r"(?:[eE][-+]?\d+)?(?:im(?!\w))?",
                },
            ]
        },
        "type": {"name": "support.type.atled", "match": word(types)},
        "derivative": {
            "name": "keyword.operator.derivative.atled",
            "match": r"[∂∇Δ√]|(?<=[\w)\]}'])'",
        },
        "function": {"name": "support.function.atled", "match": word(names, r"(?=\s*\()")},
        "name": {"name": "variable.other.atled", "match": r"(?!\d)\w[\w₀-₉]*"},
        "operator": {
            "name": "keyword.operator.atled",
            "match": r"\|>|->|:=|==|!=|<=|>=|//=?|[-+*/%^@]=|\.\.\.?|[-+*/%^@<>=·×∘∈≤≥≠²³]",
        },
    },
}


def wrapped(prefix, words, width=140):
    lines, line = [], prefix
    for w in words:
        if len(line) + 1 + len(w) > width:
            lines.append(line)
            line = prefix
        line += " " + w
    return "\n".join(lines + [line])


vim_path = "editors/vim/syntax/atled.vim"
vim = open(vim_path, encoding="utf-8").read()
begin, end = '" ---- made by scripts/docs/editor_words.py\n', '" ---- end\n'
lists = [
    wrapped("syntax keyword atledKeyword", keywords + operators),
    wrapped("syntax keyword atledDeclare", opening + middle),
    wrapped("syntax keyword atledConstant", constants + numbers),
    wrapped("syntax keyword atledType", types),
    wrapped("syntax keyword atledFunction", names),
]
vim = vim[: vim.index(begin) + len(begin)] + "\n".join(lists) + "\n" + vim[vim.index(end) :]

stale = []
for path, text in [
    (
        "editors/vscode/syntaxes/atled.tmLanguage.json",
        json.dumps(grammar, indent=2, ensure_ascii=False) + "\n",
    ),
    (vim_path, vim),
]:
    try:
        present = open(path, encoding="utf-8").read()
    except FileNotFoundError:
        present = None
    if present == text:
        continue
    stale.append(path)
    if not check:
        open(path, "w", encoding="utf-8").write(text)
for path in stale:
    print(
        f"{path}: "
        + (
            "is not what scripts/docs/editor_words.py makes of the program's words"
            if check
            else "written"
        )
    )
sys.exit(1 if check and stale else 0)
