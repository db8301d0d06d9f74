"""hostile_programs.py - the programs of test_hostile.py.

Each is larger, longer or deeper than any that makes sense, or uses files,
streams and an environment that no one expects. Two statuses are right where the
speed of the machine decides whether a limit comes first, or where a limit and a
refusal serve a user equally.
"""

OK, FAILED, REFUSED, LIMIT, DENIED = 0, 1, 3, 5, 6
SMALL = ('--mem-limit=64M',)
# Runs long enough for machine code.
HEAVY = 's = 0.0; for i in 0..3000000 { s += sin(i) }; s'

programs = []  # (name, text, statuses, options, shell)


def program(name, text, *statuses, options=(), shell=''):
    programs.append((name, text, statuses, options, shell))


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
    program('memory: ' + text, text, LIMIT, options=SMALL)
# Arrays whose elements are all one number, and ranges, are not stored.
for text in ('zeros(10^12)', 'x = zeros(10^5, 10^5)', '0..10^18 + 0',
             'expand(ones(10), 0) + zeros(10^9, 1)', 'x = zeros(10^6) * expand(zeros(10^6), 1)'):
    program('not stored: ' + text, text, OK, options=SMALL)

# ---- what was not granted ----------------------------------------------------

for text in ('load("x.npy")', 'save("x.npy", 1)', 'read_text("/etc/passwd")', 'read_lines("x")',
             'write_text("x", "y")', 'exists("/")', 'list_files("/")', 'use "x.dsl"', 'clock()',
             'env("HOME")', 'try { load("x") } catch m { 1 }', 'f(x) = load("x")\nf(1)',
             'map(x -> clock(), rand(3))', 'mesh("part.msh")',
             'problem p { domain x in mesh("part.msh")\n field u\n u == 0 }'):
    program('safe: ' + text, text, DENIED, options=('--safe',))

# ---- more texts --------------------------------------------------------------

program('text: a string without an end', 's = "' + 'x' * 20000000, REFUSED, LIMIT)
program('text: strings without an end', '"\n' * many, REFUSED, LIMIT)
program('text: a name', 'x' * 5000000 + ' = 1\n', OK, REFUSED)
program('text: a number', 'x = ' + '9' * 2000000, OK, REFUSED, LIMIT)
program('text: a fraction', 'x = 0.' + '3' * 2000000, OK, LIMIT)
program('text: an exponent', 'x = 1e' + '9' * 1000000, REFUSED)
program('text: empty lines', '\n' * 20000000 + '1', OK, LIMIT)
program('text: semicolons', ';' * 20000000 + '1', OK, REFUSED, LIMIT)
program('text: blanks', ' ' * 40000000 + '1', OK, LIMIT)
program('text: tabs and returns', '\t\r' * 10000000 + '1', OK, REFUSED, LIMIT)
program('text: a byte order mark', '\ufeff' * 1000000 + '1', REFUSED, OK)
program('text: right to left', '\u202e' * 1000 + 'x = 1', REFUSED)
program('text: marks on a letter', 'x' + '\u0301' * 1000000 + ' = 1', REFUSED, OK)
program('text: emoji', '\U0001f600 = 1\n' * 10000, REFUSED)
program('text: primes', 'f(x) = x\nf' + "'" * 100000 + '(1.0)', REFUSED, LIMIT)
program('text: fields of fields', 'r = (a = 1)\nr' + '.a' * many, REFUSED)
program('text: indices', 'x = [1.0]\nx' + '[0]' * many, REFUSED)
program('text: calls', 'f() = f\nf' + '()' * many, REFUSED)
program('text: powers', 'x = 2' + '^2' * many, REFUSED)
program('text: comparisons', 'x = 1' + ' < 2' * many, OK)
program('text: negations', 'x = ' + 'not ' * 10 + '!' * many + 'true', REFUSED)
program('text: compositions', 'f = sin' + ' ∘ sin' * 100000 + '\nf(1.0)', REFUSED, LIMIT)
program('text: ranges', 'x = 0' + '..1' * many, REFUSED)
program('text: a chain of choices', 'x = 1\n' + 'if x == 0 { 1 } else ' * 100000 + '{ 2 }',
    REFUSED, LIMIT)
program('text: open choices', 'if true { ' * many, REFUSED)
program('text: open loops', 'for i in 0..2 { ' * many, REFUSED)
program('text: open attempts', 'try { ' * many, REFUSED)
program('text: nested attempts', 'try { ' * 150 + 'error("no")' + ' } catch m { error(m) }' * 150,
    FAILED, REFUSED)
program('text: nested loops', 's = 0\n' + 'for i in 0..9 { ' * 60 + 's += 1' + ' }' * 60, LIMIT,
    REFUSED)
program('text: functions in functions', 'f = ' + 'x -> ' * 100000 + 'x', REFUSED)
program('text: strings in strings', 's = ' + '"a{' * 100 + '1' + '}"' * 100, OK, REFUSED)
program('text: open interpolations', 's = ' + '"{' * many, REFUSED)
program('text: a matrix', 'A = [' + ';'.join(['1, 2'] * 500000) + ']', OK, LIMIT)
program('text: a wide matrix', 'A = [' + ', '.join(['1'] * 500000) + '; 1]', REFUSED, LIMIT)
program('text: a tuple', 't = (' + '1, ' * many + '1)\nt[3]', OK, REFUSED, LIMIT)
program('text: a list', 't = list(' + '1, ' * many + '1)\nlen(t)', OK, REFUSED, LIMIT)
program('text: nested tuples', 't = ' + '(' * 150 + '1' + ',)' * 150, OK, REFUSED)
program('text: names of a tuple', '(' + ', '.join(f'a{i}' for i in range(100000)) + ') = 1',
    REFUSED, LIMIT)
program('text: arguments', 'f(x) = x\nf(' + ', '.join(['1'] * many) + ')', REFUSED, LIMIT)
program('text: named arguments', 'f(x) = x\nf(1; ' + ', '.join(f'a{i} = '
    f'1' for i in range(100000)) + ')', REFUSED, LIMIT)
program('text: one parameter many times', 'f(' + ', '.join(['x'] * 100000) + ') = x', REFUSED,
    LIMIT)
program('text: one function many times', 'f(x) = x\n' * many, REFUSED, LIMIT)
program('text: types', 'f(x: f64[' + ', '.join(['n'] * 100000) + ']) = x', REFUSED, LIMIT)
program('text: extents', 'f(x: f64[' + '+'.join(['n'] * 100000) + ']) = x', REFUSED, LIMIT)
program('text: derivatives', ''.join(f'derivative sin(x) = cos(x)\n' for i in range(many)),
    REFUSED, LIMIT)
program('text: problems', ''.join(f'problem p{i} '
    f'{{\n domain x in [0, 1]\n field u\n u == 0 }}\n' for i in range(50000)), OK, LIMIT)
program('text: fields of a problem', 'problem p {\n domain x in [0, 1]\n field ' +
    ', '.join(f'u{i}' for i in range(20000)) + '\n' + ''.join(f' u{i} == '
    f'0\n' for i in range(20000)) + '}\n1', OK, REFUSED, LIMIT)
program('text: coordinates', 'problem p {\n domain ' + ', '.join(f'x{i} in [0, '
    f'1]' for i in range(2000)) + '\n field u\n u == 0 }\n1', OK, REFUSED, LIMIT)
program('text: a derivative of high order', 'problem p {\n domain x in [0, 1]\n field u\n u_' +
    'x' * 100000 + ' == 0 }\n1', OK, REFUSED, LIMIT)
program('text: uses', 'use "no.dsl"\n' * 100000, REFUSED, FAILED)
program('text: escapes', 's = "' + '\\n' * 5000000 + '"', OK, LIMIT)
program('text: wrong escapes', 's = "' + '\\q' * 100000 + '"', REFUSED)
program('text: a comment of brackets', '#' + '({[' * 1000000 + '\n1', OK)
program('text: index notation', ''.join(f'C{i}[i, k] := sum(A[i, j]*B[j, k] for '
    f'j)\n' for i in range(20000)), REFUSED, LIMIT)
program('text: nothing', '', OK)
program('text: a bracket', '(', REFUSED)
program('text: the null byte', '\x00', REFUSED)

# ---- more that doubles -------------------------------------------------------

program('doubling: shapes', 'f(x) = f(concat(x, x))\nf([1.0])', LIMIT, REFUSED)
program('doubling: extents', 'f(n) = zeros(n) + f(2n)\nf(1)', LIMIT, REFUSED, FAILED)
program('doubling: ranks', 'f(x) = f(stack(x, x))\nf([1.0])', LIMIT, REFUSED)
program('doubling: closures', 'f(g, x) = f(y -> g(y) + g(y + 1), x)\nf(sin, 1.0)', LIMIT, REFUSED)
program('doubling: records', 'f(r) = f((a = r, b = r))\nf((a = 1, b = 2))', LIMIT, REFUSED)
program('doubling: lists', 'f(t) = f(push(t, t))\nf(list())', LIMIT, REFUSED)
program('doubling: lists of lists', 't = list(1)\nfor i in 0..60 { t = list(t, t) }\nt', LIMIT, OK)
program('doubling: showing it', 't = list(1)\nfor i in 0..60 { t = list(t, t) }\nprint(t)', LIMIT)
program('doubling: its text', 't = list(1)\nfor i in 0..60 { t = list(t, t) }\nlen(str(t))', LIMIT)
program('doubling: comparing it', 't = list(1)\nfor i in 0..60 { t = list(t, t) }\nsame(t, '
    'push(t, 1))', LIMIT, OK)
program('doubling: its leaves', 't = list(1)\nfor i in 0..60 { t = list(t, t) }\nlen(leaves(t))',
    LIMIT, FAILED)
program('doubling: flattening it', 't = list(1.0)\nfor i in 0..60 { t = list(t, t) }\nflatten(t)',
    LIMIT, FAILED, REFUSED)
program('doubling: saving it', 't = list(1)\nfor i in 0..60 { t = list(t, t) }\nsave("t.json", '
    't)', LIMIT, FAILED)
program('doubling: strings of functions', 'f(s) = f(s + s)\nf("ab")', LIMIT, REFUSED)
program('doubling: replacements', 's = "a"\nfor i in 0..60 { s = replace(s, "a", "aa") }', LIMIT)
program('doubling: interpolations', 's = "a"\nfor i in 0..60 { s = "{s}{s}" }\nlen(s)', LIMIT,
    options=SMALL)
program('doubling: joins', 's = "a"\nfor i in 0..60 { s = join(list(s, s), s) }\nlen(s)', LIMIT,
    options=SMALL)
program('doubling: tiles', 'x = [1.0]\nfor i in 0..60 { x = tile(x, 2) }\nsum(x)', LIMIT,
    options=SMALL)
program('doubling: products', 'x = [1.0]\nfor i in 0..12 { x = ravel(outer(x + 1, concat(x, '
    'x))) }\nsum(x)', LIMIT, options=SMALL)
program('doubling: exponents', 'n = 2\nfor i in 0..60 { n = n*n }\nn', OK)
program('doubling: twice differentiated', 'f0(x) = sin(x)\n' +
    ''.join(f"f{k}(x) = f{k-1}(x)*f{k-1}'(x)\n" for k in range(1, 30)) + 'f29(1.0)', LIMIT)
program('doubling: choices', 'f(x) = {\n y = x\n' + ' y = if y < 1 { y + 1 } else { y*2 '
    '}\n' * 3000 + " y\n}\nf''(0.3)", LIMIT, OK)
program('doubling: nested maps', 'g0(x) = x\n' + ''.join(f'g{k}(x) = sum(map(y -> g{k-1}(y*x), '
    f'rand(30)))\n' for k in range(1, 9)) + 'g8(1.0)', LIMIT)
program('doubling: default values', 'f0(a = 1) = a\n' + ''.join(f'f{k}(a = f{k-1}(f{k-1}())) = '
    f'a + f{k-1}()\n' for k in range(1, 50)) + 'f49()', LIMIT)
program('doubling: hessians', 'f(x) = sum(x^3)\nhessian(f)(rand(30000))', LIMIT, options=SMALL)
program('doubling: jacobians', 'f(x) = cumsum(sin(x))\njacobian(f)(rand(100000))', LIMIT,
    options=SMALL)
program('doubling: jets', 'jet(sin, 1.0, (' + '1.0, ' * 3000 + '))', FAILED)
program('doubling: derivatives of high order', 'nth_derivative(x -> exp(sin(x)), 0.5, 100000)',
    LIMIT, REFUSED, FAILED)
program('doubling: series', 'taylor(x -> exp(sin(x)), 0.5, 100000)', LIMIT, REFUSED, FAILED)
program('doubling: a tape', 'grad(x -> { y = x; for i in 0..10^9 { y = sin(y) }; y })(1.0)',
    LIMIT, options=SMALL)
program('doubling: snapshots', 'grad(checkpoint(x -> { y = x; for i in 0..10^9 { y = sin(y) }; '
    'y }; snapshots = 3))(1.0)', LIMIT, REFUSED)

# ---- more that runs for ever -------------------------------------------------

RUNS = {
    'a loop with an array': 'x = rand(100)\nwhile true { x = sin(x) }',
    'a loop with a call': 'f(x) = x + 1\nk = 0.0\nwhile true { k = f(k) }',
    'a loop in a function': 'f(x) = { while x < 2 { x = x/2 }; x }\nf(1.0)',
    'a loop in a derivative': "f(x) = { while x > 0 { x = x/2 + 1 }; x }\nf'(1.0)",
    'a loop in a map': 'map(x -> { y = x; while y < 2 { y = y/2 }; y }, rand(10))',
    'a loop in a loop': 's = 0\nfor i in 0..10^9 { for j in 0..10^9 { s += i*j } }',
    'a loop by steps': 'i = 0.0\nwhile i != 1.0 { i = i + 0.3 }',
    'a loop over an array': 'for x in zeros(10^12) { }',
    'a loop that prints nothing': 'while true { print("") }',
    'a loop that catches': 'k = 0\nwhile true { k = try { error("a") } catch m { k + 1 } }',
    'a loop that asserts': 'while true { try { assert(false, "no") } catch m { 1 } }',
    'a loop of strings': 'while true { s = str(rand(100)) }',
    'a loop of lists': 't = list(1, 2)\nwhile true { t = list(t[1], t[0]) }',
    'a loop of records': 'r = (a = 1)\nwhile true { r = (a = r.a + 1) }',
    'a loop of random numbers': 'while true { rand(1000) }',
    'a loop of seeds': 'while true { seed(1) }',
    'a loop of solutions': 'while true { ode((t, y) -> -y, [1.0], (0, 1)) }',
    'a loop of integrals': 's = 0.0\nwhile true { s += integrate(x -> sin(x), 0, 1) }',
    'a loop of roots': 'while true { root(x -> x^2 - 2, 1.0) }',
    'a loop of plots': 'while true { plot([1, 2], [3, 4]; file = "a.svg") }',
    'a loop of files': 'while true { save("a.npy", [1.0, 2]) }',
    'a loop that reads': 'save("a.csv", rand(100, 3))\nwhile true { load("a.csv") }',
    'a loop of systems': 'while true { linsolve(randn(100, 100), rand(100)) }',
    'a loop of decompositions': 'while true { eig(randn(50, 50)) }',
    'recursion by two': 'f(n) = if n < 2 { 1 } else { f(n - 1) + f(n - 2) + f(n - 3) }\nf(200)',
    'recursion with arrays': 'f(x) = sum(x) + f(x/2) + f(x/3)\nf(rand(10))',
    'ackermann': 'a(m, n) = if m == 0 { n + 1 } else if n == 0 { a(m - 1, 1) } else { a(m - 1, '
    'a(m, n - 1)) }\na(4, 3)',
    'collatz backwards': 'f(n) = if n == 1 { 0 } else { f(2n) }\nf(3)',
    'a sum': 'sum(sin(i) for i in 0..10^12)',
    'a product of sums': 'prod(1 + 1/(i + 1)^2 for i in 0..10^12)',
    'a map of a range': 'sum(map(i -> sin(i), 0..10^11))',
    'prime numbers': 'isprime(2^61 - 1)\nk = 0\nwhile true { if isprime(2^61 - 1) { k += 1 } }',
    'a stiff equation': 'ode((t, y) -> [-1e8*(y[0] - sin(1e6*t))], [1.0], (0, 1e6); method = '
    'dop853(), partial = false)',
    'chaos': 'ode((t, y) -> [10*(y[1] - y[0]), y[0]*(28 - y[2]) - y[1], y[0]*y[1] - 8*y[2]/3], '
    '[1.0, 1, 1], (0, 1e7))',
    'an oscillator': 'ode((t, y) -> [y[1], -1e12*y[0]], [1.0, 0], (0, 1e3))',
    'a minimum far away': 'minimize(x -> { s = 0.0; for i in 0..10^6 { s += sin(x[0] + i) }; s '
    '+ 1e-9*x[0]^2 }, [1.0], steps = 10^9)',
    'a simplex': 'minimize(x -> sum(abs(x)^0.5), rand(200), nelder_mead(); steps = 10^9, tol = '
    '0.0)',
    'training': 'minimize(x -> sum(sin(10x)^2), rand(1000), adam(); steps = 10^9)',
    'a fixed point': 'fixed_point(x -> cos(x) + 1e-3*sin(1e6*x), 1.0; steps = 10^9, tol = 0.0)',
    'a network': 'problem p { domain x in [0, 1]\n field u\n u_xx == -sin(9x)\n u == 0 at '
    'boundary }\nsolve(p, pinn(steps = 10^8))',
    'a fine grid': 'problem p { domain x in [0, 1], y in [0, 1]\n field u\n u_xx + u_yy == -1\n '
    'u == 0 at boundary }\nsolve(p, fd(n = 3000))',
    'a cube': 'problem p { domain x in [0, 1], y in [0, 1], z in [0, 1]\n field u\n u_xx + u_yy '
    '+ u_zz == -1\n u == 0 at boundary }\nsolve(p, fd(n = 200))',
    'a spectral cube': 'problem p { domain x in [0, 1], y in [0, 1], z in [0, 1]\n field u\n '
    'u_xx + u_yy + u_zz == -1\n u == 0 at boundary }\nsolve(p, chebyshev(n = 64))',
    'a fine mesh': 'problem p { domain x in [0, 1], y in [0, 1]\n field u\n u_xx + u_yy == -1\n '
    'u == 0 at boundary }\nsolve(p, fem(h = 0.0005))',
    'a wave for ever': 'problem p { domain t in [0, 1e7], x in [0, 1] periodic\n field u\n u_tt '
    '== u_xx\n u == sin(2π*x) at t = 0\n u_t == 0 at t = 0 }\nsolve(p, fd(n = 100))',
    'a shock for ever': 'problem p { domain t in [0, 1e7], x in [0, 1] periodic\n field u\n u_t '
    '+ u*u_x == 0\n u == sin(2π*x) at t = 0 }\nsolve(p, fv(n = 1000))',
    'a delay': 'dde((t, y, Z) -> -Z[0], [1.0], (0, 1e6); lags = 1e-4, past = t -> [1.0])',
    'noise': 'sde((t, x) -> -x, (t, x) -> [0.1], [1.0], (0, 1e6); method = milstein(1e-6))',
    'many points': 'delaunay(rand(2000000, 2))',
    'a large eigenproblem': 'eigh((A -> A + A\')(randn(3000, 3000)))',
    'a cubature': 'cubature(x -> sin(1e3*sum(x)), zeros(6), ones(6); rtol = 1e-12)',
    'an exponential': 'expm(randn(1500, 1500))',
    'a convolution of all': 'x = rand(100000)\ny = x\nwhile true { y = sort(y + x) }',
    'a distance of all': 'sum(pairwise_distances(rand(20000, 30), rand(20000, 30)))',
    'an interpolation': 'x = linspace(0, 1, 100000)\nwhile true { interp(x, x, rand(100000)) }',
}
for name, text in RUNS.items():
    program('endless: ' + name, text, LIMIT)

# Nests of loops too short to look at the clock themselves.
DEEP = 14


def nest(inner, count='9', depth=DEEP, name='i'):
    return ''.join(f'for {name}{k} in 0..{count} {{ ' for k in range(depth)) + inner + ' }' * depth


def calls(count, more=''):
    return f'g0(x{more}) = x + 1\n' + ''.join(
        f'g{k}(x{more}) = '
            f'{{\n s = 0.0\n for i in 0..{count} {{ s += g{k-1}(x + i{more}) }}\n s\n}}\n'
        for k in range(1, DEEP + 1))


NINE = 'i64(9 + rand())'
NESTS = {
    'loops': 's = 0\n' + nest('s += 1'),
    'unknown loops': f'f(n) = {{\n s = 0.0\n {nest("s += 1", "n")}\n s\n}}\nf({NINE})',
    'loops in a map': f'map(x -> {{\n s = x\n {nest("s = sin(s)")}\n s\n}}, rand(4))',
    'unknown loops in a map':
        f'f(n) = map(x -> {{\n s = x\n {nest("s = sin(s)", "n")}\n s\n}}, rand(4))\nf({NINE})',
    'loops in reverse': f'f(x) = {{\n s = x\n {nest("s = sin(s)")}\n s\n}}\ngrad(f)(1.0)',
    'loops forwards': f'f(x) = {{\n s = x\n {nest("s = sin(s)")}\n s\n}}\njvp(f, 1.0, 1.0)',
    'while loops': 's = 0\n' + ''.join(
        f'i{k} = 0\nwhile i{k} < 9 {{ i{k} += 1; ' for k in range(DEEP)) + 's += 1' + ' }' * DEEP,
    'calls': calls('9') + f'g{DEEP}(rand())',
    'unknown calls': calls('n', ', n') + f'g{DEEP}(rand(), {NINE})',
    'loops of short arrays': f'f(x) = {{\n s = x\n {nest("s = s + 1")}\n s\n}}\nf(rand(3))',
    'loops of arrays': f'f(x) = {{\n s = x\n {nest("s = sin(s)")}\n s\n}}\nf(rand(300))',
    'loops in choices': 'f(x) = {\n s = x\n ' + nest(
        'if s < 0.5 { ' + nest('s += 1e-12', depth=7, name='j') + ' } else { s = 0.1 }',
        depth=7) + '\n s\n}\nf(0.1)',
}
for name, text in NESTS.items():
    program('nest: ' + name, text, LIMIT)
    program('nest, compiled at once: ' + name, text, LIMIT, shell='export ATLED_NATIVE=always; ')

# ---- more memory -------------------------------------------------------------

for text in ('linspace(0, 1, 10^12)', 'x = collect(0..10^12); sum(x*x)', 'eye(10^5) @ rand(10^5)',
             'kron(rand(3000, 3000), rand(3000, 3000))', 'outer(rand(10^6), rand(10^6))',
             'tile(rand(10^6), 10^6)', 'repeat(rand(10^6), 10^6)', 'pad(rand(10), 10^11)',
             'toeplitz(rand(10^5))', 'vander(rand(10^6), 10^6)',
             'x = rand(10^4); x @ transpose(x)\nouter(x, x) + 1',
             'one_hot(3, 10^12) + rand(1)', 'windows(rand(10^6), 10^5) + 1',
             'circulant(rand(10^5))',
             'hilbert_matrix(10^5)', 'block_diag(list(rand(10^4, 10), rand(10, 10^5)))',
             'bincount([10^12])', 'histogram(rand(10), 10^12)', 'fft(rand(2^30))',
             'cumsum(rand(10^10))',
             'str(rand(10^8))', 's = "x"; for i in 0..40 { s = s + s }',
             's = "x"; for i in 0..9 { s = join(list(s, s, s, s), s + s) }; len(s)',
             'chars(str(iota(10^7)))', 'list(rand(10^7), rand(10^7), rand(10^7))',
             'randn(10^5, 10^5)[0, 0]',
             'x = zeros(10^5, 10^5); x[0, 0] = 1; sum(x)', 'A = zeros(3*10^4, 3*10^4) + rand(1);'
             ' linsolve(A, A)',
             'inv(randn(5000, 5000))', 'svd(randn(4000, 4000))', 'qr(randn(4000, 4000))',
             'sort(rand(10^9))',
             'concat(rand(10^7), rand(10^7), rand(10^7))', 'transpose(rand(4000, 4000)) + 1',
             'map(x -> rand(10^5), rand(10^5))', 'ode((t, y) -> -y, rand(10^7), (0, 1))',
             'ode((t, y) -> -y, [1.0], (0, 1); saveat = linspace(0, 1, 10^9))',
             'minimize(x -> sum(x^2), rand(10^5), bfgs())', 'least_squares(x -> x, rand(10^5))',
             'f(x, n) = if n < 1 { x } else { f(x, n - 1) + rand(10^5) }\nf(rand(10^5), 1900)',
             'mlp(list(10^5, 10^5, 1))', 'plot(rand(10^7), rand(10^7); file = "a.png")',
             'image(rand(4000, 4000); file = "a.png")', 'gauss_legendre(10^6)',
             'delaunay(rand(10^6, 2))'):
    program('memory: ' + text, text, LIMIT, options=SMALL)

# ---- files -------------------------------------------------------------------

for text, *statuses in (
        ('load("/dev/zero")', FAILED, LIMIT), ('read_text("/dev/zero")', FAILED, LIMIT),
        ('read_lines("/dev/zero")', FAILED, LIMIT), ('load("/dev/zero"; format = "csv")', FAILED,
        LIMIT),
        ('load("/")', FAILED), ('read_text("/")', FAILED), ('load("no.npy")', FAILED),
        ('save("/no/such/folder/x.npy", [1.0])', FAILED), ('save("/", [1.0])', FAILED),
        ('save("/dev/full", [1.0])', FAILED), ('save("x.unknown", [1.0])', FAILED, REFUSED),
        ('write_text("/dev/full", "x")', FAILED), ('write_text("", "x")', FAILED),
        ('load("")', FAILED), ('load("x" * 10)', REFUSED),
        ('s = "a"; for i in 0..14 { s = s + s }; load(s + ".npy")', FAILED),
        ('read_text("a\\0b")', FAILED, REFUSED), ('use "/dev/zero"', FAILED, REFUSED, LIMIT),
        ('use "/"', FAILED, REFUSED), ('use "program.dsl"', OK),
        ('write_text("a.dsl", "use \\"b.dsl\\""); write_text("b.dsl", "use \\"a.dsl\\""); 1', OK),
        ('write_text("a.csv", "1,2\\n3"); load("a.csv")', FAILED),
        ('write_text("a.npy", "NUMPY"); load("a.npy")', FAILED),
        ('write_text("a.json", "[1, 2"); load("a.json")', FAILED),
        ('s = "["; for i in 0..22 { s = s + s }; write_text("a.json", s); load("a.json")', FAILED),
        ('s = "1,"; for i in 0..22 { s = s + s }; write_text("a.csv", s); load("a.csv")', OK,
        FAILED, LIMIT),
        ('s = "1\\n"; for i in 0..23 { s = s + s }; write_text("a.csv", s); load("a.csv")', OK,
        LIMIT),
        ('s = "<a>"; for i in 0..20 { s = s + s }; write_text("a.vtu", s); load("a.vtu")', FAILED),
        ('write_text("a.h5", "no"); load("a.h5")', FAILED), ('write_text("a.msh", "no"); '
        'mesh("a.msh")', FAILED),
        ('write_text("a.air", "no"); load("a.air")', FAILED),
        ('write_text("a.npz", "PK"); load("a.npz")', FAILED),
        ('save("a.npy", x -> x)', FAILED, REFUSED), ('save("a.npy", "text")', OK),
        ('save("a.csv", rand(2, 2, 2))', FAILED, REFUSED), ('save("a.npz", 1)', OK),
        ('save("a.npy", zeros(10^12))', LIMIT, FAILED), ('list_files("/proc/self/fd")', OK, FAILED),
        ('load("/proc/self/mem")', FAILED), ('read_text("/proc/self/mem")', FAILED),
        ('save("program.dsl", 1)', FAILED, REFUSED), ('plot([1], [1]; file = "/dev/full")',
        FAILED, REFUSED),
        ('plot([1], [1]; file = "a.xyz")', FAILED, REFUSED), ('plot([1], [1]; file = '
        '"/no/a.svg")', FAILED)):
    program('files: ' + text, text, *statuses, options=SMALL)

# A FIFO without another end, standard streams that are closed, few descriptors,
# small stacks and files, folders that are gone or cannot be written.
fifo = 'mkfifo pipe 2>/dev/null; '
for name, shell, text, *statuses in (
        ('reading a FIFO', fifo, 'load("pipe"; format = "csv")', FAILED, LIMIT),
        ('the text of a FIFO', fifo, 'read_text("pipe")', FAILED, LIMIT),
        ('writing a FIFO', fifo, 'write_text("pipe", "x")', FAILED, LIMIT),
        ('saving to a FIFO', fifo, 'save("pipe", [1.0]; format = "npy")', FAILED, LIMIT, REFUSED),
        ('using a FIFO', fifo, 'use "pipe"', FAILED, LIMIT, REFUSED),
        ('links in a circle', 'ln -sf a.npy b.npy; ln -sf b.npy a.npy; ', 'load("a.npy")', FAILED),
        ('a file of a terabyte', 'truncate -s 1T big.npy big.csv big.txt; ', 'load("big.npy")',
        FAILED, LIMIT),
        ('lines of a terabyte', 'truncate -s 1T big.txt; ', 'read_lines("big.txt")', FAILED, LIMIT),
        ('a table of a terabyte', 'truncate -s 1T big.csv; ', 'load("big.csv")', FAILED, LIMIT),
        ('a program of a terabyte', 'truncate -s 1T big.dsl; ', 'use "big.dsl"', FAILED, LIMIT,
        REFUSED),
        ('no standard input', 'exec 0<&-; ', '1 + 1', OK),
        ('no standard output', 'exec 1>&-; ', 'print("x")', FAILED, OK),
        ('no standard error', 'exec 2>&-; ', 'error("x")', FAILED),
        ('no standard streams', 'exec 0<&- 1>&- 2>&-; ', 'save("a.npy", [1.0])\nload("a.npy")',
         FAILED),
        ('a full disk', 'exec >/dev/full; ', 'print("x")', FAILED),
        ('a full disk, much', 'exec >/dev/full; ', 'while true { print("x") }', FAILED,
         LIMIT),
        ('a reader that is gone', 'exec > >(exit); sleep 0.05; ', 'while true { print("x") }',
        -13),
        ('few descriptors', 'ulimit -n 4; ', 'save("a.npy", [1.0])\nload("a.npy")', OK, FAILED),
        ('small files', 'ulimit -f 8; ', 'save("a.npy", rand(10^5))', FAILED),
        ('small files, text', 'ulimit -f 8; ', 's = "x"; for i in 0..20 { s = s + s }; '
        'write_text("a", s)', FAILED),
        ('a small stack', 'ulimit -s 256; ', 'f(n) = if n < 1 { 0 } else { f(n - 1) + 1 '
        '}\nf(1900)', OK, LIMIT),
        ('a small stack, brackets', 'ulimit -s 256; ', '(' * 3000 + '1' + ')' * 3000, OK, REFUSED),
        ('a small stack, a solution', 'ulimit -s 512; ', 'ode((t, y) -> -y, [1.0], (0, '
        '1)).y(1.0)', OK),
        ('a small address space', 'ulimit -v 400000; ', 'x = rand(10^8)', LIMIT, FAILED),
        ('a small address space, code', 'ulimit -v 400000; ',
        's = 0.0; for i in 0..10^7 { s += sin(i) }', OK, LIMIT),
        ('no processes', 'ulimit -u 1; ', 'sum(sin(rand(10^6)))', OK),
        ('a folder that is gone', 'mkdir gone; cd gone; rmdir ../gone; ', '1 + 1', OK),
        ('saving where nothing is', 'mkdir -p gone; cd gone; rmdir ../gone; ',
        'save("a.npy", [1.0])', FAILED),
        ('a cache in a file', 'touch file; export XDG_CACHE_HOME=$PWD/file; ', HEAVY, OK),
        ('a cache in a device', 'export XDG_CACHE_HOME=/dev/full; ', HEAVY, OK),
        ('a cache without a place', 'unset HOME XDG_CACHE_HOME; ', HEAVY, OK),
        ('a cache at the end of a link', 'ln -sf gone.d cache; export XDG_CACHE_HOME=$PWD/cache;'
        ' ', HEAVY, OK),
        ('a cache of rubbish', 'export XDG_CACHE_HOME=$PWD/rubbish; mkdir -p rubbish/atled; for '
        'i in 1 2 3; do head -c 9999 /dev/urandom >rubbish/atled/$i.o; done; ', HEAVY, OK),
        ('no temporary folder', 'export TMPDIR=/no/such; ', HEAVY, OK),
        ('another locale', 'export LC_ALL=de_DE.UTF-8 LANG=xx; ', 'x = 1.5; print("{x}")', OK),
        ('threads without a number', 'export OMP_NUM_THREADS=-7 OPENBLAS_NUM_THREADS=x; ',
        'sum(rand(50, 50) @ rand(50, 50))', OK),
        ('an environment of rubbish', 'export ATLED_TARGET=x ATLED_CODEGEN=/dev/null '
        'ATLED_POOL=-1; ', HEAVY, OK, 2)):
    program('place: ' + name, text, *statuses, shell=shell)

# ---- output, names, statuses -------------------------------------------------

for name, text, *statuses in (
        ('a long error', 's = "x"; for i in 0..24 { s = s + s }; error(s)', FAILED),
        ('an error of errors', 'f(n) = try { f(n - 1) } catch m { error(m + m) }\nf(20)', FAILED,
        LIMIT),
        ('an error without text', 'error("")', FAILED), ('an error with a null', 'error("a\\0b")',
        FAILED, REFUSED),
        ('an assertion', 'assert(1 > 2, "no")', FAILED), ('a status', 'exit(7)', 7),
        ('a status in a call', 'f() = exit(9)\nmap(x -> f(), [1, 2])', 9, REFUSED),
        ('a status in a derivative', 'grad(x -> { exit(8); x })(1.0)', 8, REFUSED),
        ('a status that is caught', 'try { exit(6) } catch m { 1 }', 6), ('a status too large',
        'exit(300)', FAILED, REFUSED),
        ('a status below zero', 'exit(-1)', FAILED, REFUSED), ('a large array',
        'print(rand(10^6))', OK),
        ('a wide array', 'rand(3, 10^6)', OK), ('many axes', 'zeros(1, 1, 1, 1, 1, 1, 1, 1, 1)',
        REFUSED),
        ('colours', 'print("\\e[31m")', OK, REFUSED), ('a bell', 'print("\\a")', OK, REFUSED),
        ('sin is a number', 'sin = 3\nsin(1.0)', REFUSED), ('print is a number',
        'print = 3\nprint(1)', REFUSED),
        ('π is another', 'π = 3\nπ', OK, REFUSED), ('private names', '_norm2([1.0])', REFUSED),
        ('private builtins', '_clock_turns(1, 2)', REFUSED), ('names of results', '_ = 1\n_', OK,
        REFUSED),
        ('an overflow', '9223372036854775807 + 1', OK, FAILED), ('a quotient', '1 // 0', FAILED,
        OK, REFUSED),
        ('the least integer', '(-9223372036854775807 - 1) // -1', OK, FAILED, REFUSED),
        ('a remainder', 'mod(-9223372036854775807 - 1, -1)', OK), ('a shift', 'bitshift(1, 10^9)',
        OK, FAILED),
        ('a negative extent', 'zeros(-1)', FAILED, REFUSED), ('an overflow of extents',
        'zeros(10^10, 10^10)', FAILED, REFUSED, LIMIT),
        ('an index', '[1, 2][10^18]', FAILED, REFUSED), ('a negative index', '[1, 2][-10^18]',
        FAILED, REFUSED),
        ('a reshape', 'reshape([1, 2], 10^10, 10^10)', REFUSED, LIMIT), ('a power', '2^(10^18)',
        OK, FAILED),
        ('a power of a matrix', 'matrix_power([1, 1; 1, 0], 10^18)', OK, FAILED), ('a factorial',
        'factorial(10^18)', OK, FAILED),
        ('a root of nothing', 'root(x -> x^2 + 1, 1.0)', FAILED), ('no minimum',
        'minimize(x -> -sum(x), [1.0])', FAILED, OK),
        ('a pole', 'integrate(x -> 1/x, -1.0, 1.0)', FAILED, REFUSED), ('a blow-up',
        'ode((t, y) -> y^2, [1.0], (0, 2))', FAILED),
        ('a singular system', 'linsolve([1.0, 1; 1, 1], [1.0, 2])', FAILED),
        ('an empty system', 'linsolve(zeros(0, 0), zeros(0))', OK, FAILED, REFUSED),
        ('nothing to reduce', 'max(zeros(0))', FAILED, REFUSED), ('nothing to average',
        'mean(zeros(0))', OK, FAILED, REFUSED),
        ('nan everywhere', 'eig([nan, 1; 1, nan])', OK), ('infinite values',
        'svd([inf, 1; 1, 2])', OK),
        ('an ill-posed problem', 'problem p { domain x in [0, 1]\n field u\n u_xx == 1 '
        '}\nsolve(p)', FAILED, REFUSED),
        ('an empty domain', 'problem p { domain x in [1, 1]\n field u\n u == x }\nsolve(p)',
        OK),
        ('an endless domain', 'problem p { domain x in [0, inf]\n field u\n u_x == -u\n u == 1 '
        'at x = 0 }\nsolve(p)', FAILED, REFUSED),
        ('a large picture', 'plot([1, 2], [1, 2]; size = (10^6, 10^6), file = "a.png")', FAILED),
        ('fine pixels', 'plot([1, 2], [1, 2]; dpi = 10^6, file = "a.png")', FAILED),
        ('a domain of nan', 'problem p { domain x in [0, nan]\n field u\n u_x == -u\n u == 1 at '
        'x = 0 }\nsolve(p)', FAILED, REFUSED)):
    program('end: ' + name, text, *statuses)
