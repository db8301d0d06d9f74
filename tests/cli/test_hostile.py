#!/usr/bin/env python3
"""test_hostile.py - programs of strangers end in time and in the right way.

Use: ATLED=build/atled tests/cli/test_hostile.py [--only WORD]

Each program is larger, longer or deeper than any that makes sense. With a limit
of SECONDS it must end with its status within twice that time. Two statuses are
right where the speed of the machine decides whether the limit comes first. The
last line is "N passed, N failed".
"""
import os
import subprocess
import sys
import tempfile
import time

ATLED = os.path.abspath(os.environ.get('ATLED', 'build/atled'))
SECONDS = 0.5
# Starting, reading the text and ending, beside other tests.
SLACK = 3.0 * float(os.environ.get('ATLED_PACE', '100')) / 100
SLOWER = {'check': 1, 'asan': 6, 'polls': 6}.get(os.environ.get('ATLED_KIND', 'check'), 15)
OK, FAILED, REFUSED, LIMIT, DENIED = 0, 1, 3, 5, 6

programs = []  # (name, text, statuses, options)


def program(name, text, *statuses, options=()):
    programs.append((name, text, statuses, options))


# ---- texts of millions of characters: reading, checking, compiling ----------

many = 400000
program('assignments', 'x = 1\n' * 4000000, LIMIT)
program('functions', ''.join(f'f{i}(x) = x + {i}\n' for i in range(many)), LIMIT)
program('variables', ''.join(f'v{i} = {i}\n' for i in range(many)), LIMIT)
program('fields', 'r = (' + ', '.join(f'a{i} = {i}' for i in range(many)) + ')\n', LIMIT)
program('parameters', 'f(' + ', '.join(f'a{i}' for i in range(many)) + ') = 1\nf\n', OK, LIMIT)
program('numbers', 'y = [' + ', '.join(['1.5'] * 2000000) + ']\n', LIMIT)
program('interpolations', 's = "' + 'a{1}' * many + '"\n', OK, LIMIT)
program('a comment', '# ' + 'x' * 60000000 + '\n1\n', OK, LIMIT)
program('a body', 'f(x) = {\n y = x\n' + ' y = y/2 + sin(y)\n' * 200000 + ' y\n}\nf(0.1)\n', LIMIT)
program('its derivative',
        'f(x) = {\n y = x\n' + ' y = 0.5*y + sin(y)\n' * 60000 + " y\n}\nf'''(0.1)\n", LIMIT)
program('equations', 'problem p {\n domain x in [0, 1]\n field u\n' +
        ' u == 0 at x = 0\n' * 100000 + ' u_xx == 1\n}\n1', REFUSED, LIMIT)
program('open brackets', '(' * 1000000, REFUSED)
program('open blocks', '{' * 1000000, REFUSED)
program('operators', 'x = 1.0\ny = ' + ' + '.join(['x'] * many) + '\n', REFUSED)
program('signs', '-' * 1000000 + '1', REFUSED)
program('errors', 'x = )\n' * many, REFUSED, LIMIT)
program('unknown names', ''.join(f'x = a{i}\n' for i in range(many)), REFUSED, LIMIT)
program('bytes that are no text', '\x00\x01\x02"' * 100000, REFUSED)

# ---- programs that double ----------------------------------------------------

program('calls that double', 'g0(n) = n + 1\n' + ''.join(
    f'g{k}(n) = if n < 0 {{ 0 }} else {{ g{k-1}(n) + g{k-1}(n + 1) }}\n' for k in range(1, 60)) +
    'g59(i64(rand()))', LIMIT)
program('texts that double', 'g0(x) = x + 1\n' + ''.join(
    f'f{k}(f, x) = f(x) + f(2x)*{k}\ng{k}(x) = f{k}(y -> g{k-1}(y), x)\n' for k in range(1, 40)) +
    'g39(1.0)', LIMIT)
program('types that double', 'g0(x) = 1\n' + ''.join(
    f'g{k}(x) = g{k-1}((x, x))\n' for k in range(1, 60)) + 'g59(1)', LIMIT)
program('tuples that double', 'x = (1, 2)\n' + 'x = (x, x)\n' * 60 + 'x', LIMIT)
program('strings that double', 's = "ab"\n' + 's = s + s\n' * 60 + 'len(s)',
        LIMIT, options=('--mem-limit=200M',))
program('arrays that double', 'x = [1.0]\n' + 'x = concat(x, x)\n' * 60 + 'len(x)', LIMIT,
        options=('--mem-limit=200M',))
program('derivatives of derivatives',
        "f(x) = sin(x)*exp(x*cos(x))/(1 + x^2)\nf" + "'" * 40 + '(1.0)', LIMIT)
program('nested maps', 'f(x) = ' + 'sum(map(y -> ' * 12 + 'x*y' + ', rand(9)))' * 12 + '\nf(1.0)',
        REFUSED)

# ---- programs that run for ever ----------------------------------------------

program('while', 'k = 0\nwhile true { k = k + 1 }', LIMIT)
program('a range', 's = 0.0; for i in 0..9223372036854775807 { s += 1 }', LIMIT)
program('recursion', 'fib(n) = if n < 2 { n } else { fib(n - 1) + fib(n - 2) }\nfib(80)', LIMIT)
program('depth', 'f(n) = f(n + 1) + 1\nf(1)', LIMIT)
program('a late end', 'f(n) = if n < 1 { 0 } else { f(n - 1) + 1 }\nf(i64(rand()) + 10^9)',
        LIMIT)
program('mutual depth', 'f(n) = if n < 0 { 0 } else { g(n + 1) }\ng(n) = f(n) + 1\nf(i64(rand()))',
        LIMIT)
program('strings', 's = ""; while true { s = s + "x" }', LIMIT)
program('lists', 't = list(); while true { t = push(t, 1) }', LIMIT)
program('output', 'while true { print("x") }', LIMIT)
program('caught errors', 'while true { try { error("no") } catch e { 1 } }', LIMIT)
program('caught limits', 'f() = try { while true { } } catch e { f() }\nf()', LIMIT)
program('an equation', 'ode((t, y) -> -1e9*(y - cos(1e9*t)), [1.0], (0, 1e9))', LIMIT)
program('an integral', 'integrate(x -> sin(1/x)/x, 1e-300, 1.0; rtol = 1e-14)', FAILED, LIMIT)
program('a sort', 'x = rand(2000000); for i in 0..10^9 { x = sort(-x) }', LIMIT)
program('a product', 'x = randn(3000, 3000); for i in 0..10^9 { x = x @ x / 100 }', LIMIT)
program('a decomposition', 'svd(randn(3000, 3000))', LIMIT)
program('a transform', 'x = rand(2^24); for i in 0..10^9 { x = real(fft(x)) / 4000 }', LIMIT)
program('a grid', 'problem p { domain t in [0, 1e6], x in [0, 1]\n field u\n u_t == u_xx\n'
        ' u == sin(π*x) at t = 0\n u == 0 at boundary }\nsolve(p, fd(n = 2000), estimate = false)',
        OK, LIMIT)

# ---- memory ------------------------------------------------------------------

for text in ('iota(10^15)', 'randn(10^4, 10^5)', 'reshape(iota(10^10), 10^5, 10^5)',
             't = list(); while true { t = push(t, zeros(1000)) }',
             'x = "x"; while true { x = x + x }', 'x = ones(10); while true { x = concat(x, x) }',
             'f(n) = map(i -> f(n + 1), rand(100))\nf(0)'):
    program('memory: ' + text, text, LIMIT, options=('--mem-limit=64M',))
# Arrays whose elements are all one number, and ranges, are not stored.
for text in ('zeros(10^12)', 'x = zeros(10^5, 10^5)', '0..10^18 + 0',
             'expand(ones(10), 0) + zeros(10^9, 1)', 'x = zeros(10^6) * expand(zeros(10^6), 1)'):
    program('not stored: ' + text, text, OK, options=('--mem-limit=64M',))

# ---- what was not granted ----------------------------------------------------

for text in ('load("x.npy")', 'save("x.npy", 1)', 'read_text("/etc/passwd")', 'read_lines("x")',
             'write_text("x", "y")', 'exists("/")', 'list_files("/")', 'use "x.dsl"', 'clock()',
             'env("HOME")', 'try { load("x") } catch m { 1 }', 'f(x) = load("x")\nf(1)',
             'map(x -> clock(), rand(3))', 'mesh("part.msh")',
             'problem p { domain x in mesh("part.msh")\n field u\n u == 0 }'):
    program('safe: ' + text, text, DENIED, options=('--safe',))


def run(name, text, statuses, options, folder):
    path = os.path.join(folder, 'program.dsl')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    limit = SECONDS * SLOWER
    begin = time.monotonic()
    try:
        got = subprocess.run([ATLED, f'--time-limit={limit}', *options, path], cwd=folder,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, timeout=60 * SLOWER, check=False)
        status, said = got.returncode, got.stderr[-200:].decode(errors='replace')
    except subprocess.TimeoutExpired:
        status, said = None, 'it does not end'
    took = time.monotonic() - begin
    if status not in statuses:
        return f'status {status}, not {" or ".join(map(str, statuses))}: {said}'
    if took > 2 * limit + SLACK * SLOWER:
        return f'{took:.2f} s with a limit of {limit} s'
    return None


def main():
    only = sys.argv[2] if sys.argv[1:2] == ['--only'] else ''
    passed, failed = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text, statuses, options in programs:
            if only not in name:
                continue
            why = run(name, text, statuses, options, folder)
            if why:
                failed += 1
                print(f'failed: {name}: {why}')
            else:
                passed += 1
    print(f'{passed} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
