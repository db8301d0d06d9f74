#!/usr/bin/env python3
"""abi.py - check that programs linked with an older libatled.so keep working.

Use: scripts/check/abi.py [--update] [LIBRARY]      (build/libatled.so)

Method: include/atled.h gives the functions with their types, the constants, and
the fields of the structs. A C program, compiled with it, gives the values and
the places of the fields. api/abi.txt is the kept list.

Rules, for one number of the library (ABI in the Makefile):
- A line of the kept list stays true. A struct may grow at its end, because its
  first field says how large its user's one is.
- What the list does not have is new: --update adds it.
- A new field begins behind the old struct, not in the padding at its end, which
  older programs leave unset.
- The library shows exactly the functions of the header.

The last line is "N passed, N failed".
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

HEADER, KEPT = "include/atled.h", "api/abi.txt"


def declarations_of(text):
    """The header without comments and lines of the preprocessor."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"^[ \t]*#(.*\\\n)*.*$", "", text, flags=re.M)


def squeezed(text):
    """One space between words, none beside punctuation."""
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r" ?([(),*\[\]]) ?", r"\1", text)


def without_name(parameter):
    """The type of a parameter: its name is no part of the interface."""
    parameter = squeezed(parameter)
    inner = re.match(r"(.*\(\*)\w*\)\((.*)\)$", parameter)
    if inner:  # a pointer to a function
        head, rest = inner.groups()
        return f"{head})({','.join(without_name(p) for p in parameters_of(rest))})"
    if re.fullmatch(r"[\w ]*\bstruct \w+", parameter) or parameter == "void":
        return parameter
    return re.sub(r"(?<=[ *])\w+(?=(\[\w*\])*$)", "", parameter).strip()


def parameters_of(text):
    """Splits at the commas outside parentheses."""
    depth, parts = 0, [""]
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def functions_of(text):
    found = {}
    for m in re.finditer(r"ATLED_API\s+([^;]*?)\b(atled_\w+)\s*\(([^;]*)\)\s*;", text):
        result, name, rest = m.groups()
        types = ",".join(without_name(p) for p in parameters_of(rest))
        found[name] = f"function {name}: {squeezed(result)}({types})"
    return found


def callbacks_of(text):
    lines = []
    for m in re.finditer(r"typedef\s+([^;{}]*?)\(\*(atled_\w+)\)\s*\(([^;]*)\)\s*;", text):
        result, name, rest = m.groups()
        types = ",".join(without_name(p) for p in parameters_of(rest))
        lines.append(f"callback {name}: {squeezed(result)}({types})")
    return lines


def fields_of(body):
    """The names of a struct's fields."""
    names = []
    for declaration in body.split(";"):
        declaration = squeezed(declaration)
        pointer = re.search(r"\(\*(\w+)\)\(", declaration)
        if pointer:
            names.append(pointer.group(1))
        elif declaration:
            for one in declaration.split(","):
                names.append(re.search(r"(\w+)(\[\w*\])*$", one).group(1))
    return names


def measured(text):
    """Constants, and offsets and sizes of fields, from a compiled program."""
    prints = []
    for body, name in re.findall(r"typedef enum \w+\s*\{(.*?)\}\s*(\w+)\s*;", text, re.S):
        for constant in re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", body.strip()):
            prints.append(f'printf("constant {name} {constant} = %d\\n", (int){constant});')
    for body, name in re.findall(r"typedef struct \w+\s*\{(.*?)\n\}\s*(\w+)\s*;", text, re.S):
        for field in fields_of(body):
            prints.append(
                f'printf("field {name}.{field} at %zu, %zu bytes\\n", offsetof({name}, {field}),'
                f" sizeof((({name} *)0)->{field}));"
            )
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "abi.c"), os.path.join(folder, "abi")
        with open(source, "w", encoding="utf-8") as out:
            out.write(f'#include "{os.path.abspath(HEADER)}"\n#include <stddef.h>\n')
            out.write("#include <stdio.h>\nint main(void) {\n" + "\n".join(prints))
            out.write("\nreturn 0;\n}\n")
        compiler = shlex.split(os.environ.get("CC", "cc"))
        subprocess.run([*compiler, source, "-o", program], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def subject_of(line):
    """What a line of the list is about: "function atled_call"."""
    return re.split(r": | at | = ", line)[0]


def in_padding(kept, present):
    """New fields that lie within the kept struct, whose alignment is 8."""
    place = re.compile(r"field (\w+)\.\w+ at (\d+), (\d+) bytes")
    ends = {}
    for line in kept:
        found = place.match(line)
        if found:
            name, at, size = found.groups()
            ends[name] = max(ends.get(name, 0), (int(at) + int(size) + 7) // 8 * 8)
    fresh = [place.match(line) for line in present if line not in kept]
    return [m.group(0) for m in fresh if m and int(m.group(2)) < ends.get(m.group(1), 0)]


def shown(library):
    out = subprocess.run(
        ["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True
    ).stdout
    return set(re.findall(r" [TDBRVW] (\w+)", out))


def main():
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    library = arguments[0] if arguments else "build/libatled.so"
    with open(HEADER, encoding="utf-8") as f:
        text = declarations_of(f.read())
    functions = functions_of(text)
    present = sorted(functions.values()) + sorted(callbacks_of(text))
    present += measured(text).splitlines()
    faults = [f"{library} does not show {n}" for n in sorted(set(functions) - shown(library))]
    faults += [f"{library} shows {n}, too" for n in sorted(shown(library) - set(functions))]
    kept = []
    if os.path.exists(KEPT):
        with open(KEPT, encoding="utf-8") as f:
            kept = [line.rstrip("\n") for line in f if not line.startswith("#")]
    now = {subject_of(line): line for line in present}
    for line in kept:
        if now.get(subject_of(line)) != line:
            is_now = now.get(subject_of(line), "gone")
            faults.append(f"{KEPT} has `{line}`, now it is `{is_now}`")
    faults += [f"in the padding of the old struct: `{f}`" for f in in_padding(kept, present)]
    if "--update" in sys.argv[1:]:
        with open(KEPT, "w", encoding="utf-8") as f:
            f.write("# The binary interface of libatled.so on 64-bit Linux: scripts/check/abi.py\n")
            f.write("\n".join(present) + "\n")
    else:
        faults += [f"new: `{line}`; --update adds it" for line in present if line not in kept]
    for fault in faults:
        print(fault)
    print(f"{len(kept) + len(functions)} passed, {len(faults)} failed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
