#!/usr/bin/env python3
"""wrap.py - wraps the prose of Markdown pages at 80 columns.

Use: scripts/docs/wrap.py FILE...    rewrites the files
     scripts/docs/wrap.py -          from standard input to standard output

- Only paragraphs, items and quotations with a longer line are wrapped.
- Tables, code blocks, headings and pictures are not changed.
- Code spans and links are never broken, so a line with one may be longer.
"""

import re
import sys

LIMIT = 80
FENCE = re.compile(r"^ *(```|~~~)")
ITEM = re.compile(r"^ *([-*+]|\d+[.)]) ")
FIXED = re.compile(r"^ *(\||#|<|!\[|---|===)")
WORD = re.compile(r"(?:`+[^`]*`+|\[[^\]]*\]\([^)]*\)|\S)+")
MARK = re.compile(r"^([-*+]|\d+[.)])$|^[#>|]")  # special at the start of a line


def wrap(text, first, rest):
    """Returns the words of text in lines: the first begins with `first`, others with `rest`."""
    lines, line, lead = [], [], first
    for word in WORD.findall(text):
        if line and len(lead + " ".join(line + [word])) > LIMIT:
            # a mark goes down together with the words before it
            k = len(line)
            while k and MARK.match((line + [word])[k]):
                k -= 1
            if k:
                lines.append(lead + " ".join(line[:k]))
                line, lead = line[k:], rest
        line.append(word)
    return lines + [lead + " ".join(line)]


def paragraph_end(lines, i, quoted):
    """Returns the index after the paragraph that begins at line i."""
    j = i + 1
    while j < len(lines) and lines[j].strip() and not lines[j - 1].endswith("  "):
        if ITEM.match(lines[j]) or FENCE.match(lines[j]) or FIXED.match(lines[j]):
            break
        if quoted != lines[j].startswith(">"):
            break
        j += 1
    return j


def wrapped(text):
    lines, out, i, code, indented = text.split("\n"), [], 0, False, False
    while i < len(lines):
        line = lines[i]
        # an indented block of code begins after a blank line
        indented = line.startswith("    ") and (indented or not out or not out[-1].strip())
        if FENCE.match(line):
            code = not code
        if code or FENCE.match(line) or not line.strip() or FIXED.match(line) or indented:
            out.append(line)
            i += 1
            continue
        item, quoted = ITEM.match(line), line.startswith(">")
        first = item[0] if item else "> " if quoted else re.match(" *", line)[0]
        rest = " " * len(first) if item else first
        j = paragraph_end(lines, i, quoted)
        part = lines[i:j]
        if max(map(len, part)) > LIMIT:
            words = [re.sub("^>? *", "", p) if quoted else p.strip() for p in part]
            words[0] = line[len(first) :].strip()
            part = wrap(" ".join(words), first, rest)
        out += part
        i = j
    return "\n".join(out)


def main():
    if sys.argv[1:] == ["-"]:
        sys.stdout.write(wrapped(sys.stdin.read()))
        return
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            old = file.read()
        if (new := wrapped(old)) != old:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)


if __name__ == "__main__":
    main()
