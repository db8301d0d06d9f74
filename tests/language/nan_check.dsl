# nan_check: finds the operation with the first NaN, or infinity, of a result.

told(r) = (r.found, r.kind, r.operation, r.operands, r.index, r.line)
derived(r) = (r.found, r.operation, r.derivative, r.order, r.line)

# The program's own operations.
f(x) = {
  y = 2 * x
  sum(sqrt(y) + 1)
}
told(nan_check(f, [1.0, -1, 4]))     #> (true, "NaN", "sqrt", (-2.0,), [1], 9)
nan_check(f, [1.0, -1, 4]).column    #> 7
nan_check(x -> 3, 1.0).found         #> false
r = nan_check(f, [1.0, 1, 4])
told(r)                              #> (false, "", "", (), [], 0)
told(nan_check(x -> x / x, 0.0))     #> (true, "NaN", "/", (0.0, 0.0), [], 16)
told(nan_check((x, y) -> x - y, inf, inf))   #> (true, "NaN", "-", (inf, inf), [], 17)
told(nan_check(x -> sum(x), [inf, 1, -inf])) #> (true, "NaN", "sum", (), [], 18)
told(nan_check(A -> A @ [0, 1], [inf, 1; 2, 3]))     #> (true, "NaN", "@", (), [0], 19)
told(nan_check(x -> log(x[1..] - 2)[0], [9.0, 1, 4]))        #> (true, "NaN", "log", (-1.0,), [0], 20)

# A NaN that a `where` discards is not reported, even if it came first.
h(x) = sum(where(x > 0, sqrt(x), 0)) + log(x[0] - 3)
told(nan_check(h, [1.0, -1]))        #> (true, "NaN", "log", (-2.0,), [], 23)
told(nan_check(x -> sum(where(x > 0, sqrt(x), 0)), [1.0, -1]))       #> (false, "NaN", "sqrt", (-1.0,), [1], 25)
# Nor does the derivative include it.
derived(nan_check(grad(x -> sum(where(x > 0, sqrt(x), 0))), [1.0, -1]))      #> (false, "sqrt", "", 0, 27)

# Arguments and constants.
told(nan_check(x -> sum(2x), [1.0, nan]))    #> (true, "NaN", "argument", (), [1], 0)
nan_check(p -> sum(p.W * p.b), (W = [1.0, nan], b = 2.0)).operation  #> argument
c = [3.0, nan]
told(nan_check(() -> sum(2c)))       #> (true, "NaN", "argument", (), [1], 0)
told(nan_check(x -> x + nan, 1.0))   #> (true, "NaN", "constant", (), [], 34)
told(nan_check(x -> if x > 0 { nan } else { x }, 1.0))       #> (true, "NaN", "constant", (), [], 35)
told(nan_check(x -> x, nan))         #> (true, "NaN", "argument", (), [], 0)

# Derivatives: forward, reverse, Taylor, of higher order.
s(x) = sum(sqrt(x) * x)
derived(nan_check(grad(s), [1.0, 0, 4]))     #> (true, "*", "reverse", 1, 39)
derived(nan_check(x -> jvp(s, x, [0.0, 1, 0])[1], [1.0, 0, 4]))      #> (true, "*", "forward", 1, 39)
q(x) = sqrt(x) * x
derived(nan_check(x -> taylor(q, x, 3), 0.0))        #> (true, "*", "Taylor", 0, 42)
derived(nan_check(grad(s), [1.0, 0, 4]; inf = true))         #> (true, "/", "reverse", 1, 39)
r = nan_check(q'', 0.0)
(r.found, r.order, r.derivative)     #> (true, 0, "Taylor")
r = nan_check(x -> hessian(s)(x), [1.0, 0])
(r.found, r.line)                    #> (true, 39)
# A finite derivative of a derivative.
nan_check(grad(x -> sum(x^3)), [1.0, 0]).found       #> false

# Loops, branches, calls.
loop(x) = {
  t = 0.0
  for i in 0..len(x) {
    for k in 0..3 { t = t + log(x[i] + k) }
  }
  t
}
r = nan_check(loop, [1.0, 2, -1.5, 3])
(r.operation, r.turns, r.line)       #> ("log", [2, 0], 56)
r = nan_check(loop, linspace(1.0, -1, 30))
(r.operation, r.turns)               #> ("log", [15, 0])
count(x) = {
  k = 0
  while k < 5 {
    x = if k == 3 { sqrt(x - 10) } else { x + 1 }
    k = k + 1
  }
  x
}
r = nan_check(count, 0.0)
(r.operation, r.operands, r.turns, r.line)   #> ("sqrt", (-7.0,), [3], 67)
r = nan_check(count', 0.0)
(r.operation, r.derivative, r.turns, r.line) #> ("sqrt", "", [3], 67)
# Backwards through a loop: the factor of the iteration that divides.
slow(x) = {
  t = x
  for i in 0..40 { t = sqrt(t * t * 1.0) }
  t
}
r = nan_check(grad(slow), 0.0)
(r.found, r.derivative, r.order, r.line)     #> (true, "reverse", 1, 79)
down(n, x) = if n < 0.5 { log(x) } else { down(n - 1, x - 1) }
told(nan_check(down, 3.0, 1.0))      #> (true, "NaN", "log", (-2.0,), [], 84)

# Batched code: the index begins with the element of the map.
told(nan_check(X -> map(r -> sum(log(r)), X), [1.0, 2; -3, 4]))      #> (true, "NaN", "log", (-3.0,), [1, 0], 88)
r = nan_check(X -> map(grad(r -> sum(sqrt(r) * 0)), X), [1.0, 2; 0, 4])
(r.operation, r.derivative, r.index) #> ("*", "reverse", [1, 0])
r = nan_check(X -> map(x -> { while x > 0 { x = x - 2 }; sqrt(x) }, X), [4.0, 3, 6])
(r.operation, r.operands, r.index)   #> ("sqrt", (-1.0,), [1])

# The library: reports the user's line and the called function.
r = nan_check(x -> acosh(x), 0.5)
(r.operation, r.function, r.line)    #> ("sqrt", "acosh", 95)
r = nan_check(grad(x -> norm(x)^2), [0.0, 0])
(r.function, r.derivative, r.line)   #> ("norm", "reverse", 97)

# User-defined rules.
sc(x) = x / (1 + abs(x))
derivative sc(x) = 1 / (x - x)
r = nan_check(grad(x -> sum(sc(x) * 0)), [1.0, 2])
(r.found, r.line)                    #> (true, 103)
r = nan_check(grad(x -> sum(sc(x))), [1.0, 2]; inf = true)
(r.operation, r.operands, r.line)    #> ("/", (1.0, 0.0), 102)
bad(x) = sqrt(x)
derivative bad(x), dx = dx * log(x - 9)
told(nan_check(grad(x -> sum(bad(x))), [1.0, 2]))    #> (true, "NaN", "log", (-8.0,), [0], 108)

# Other dtypes: the location survives the conversion to double precision.
told(nan_check(x -> sum(f64(sqrt(x)) * 2), f32([1.0, -1])))  #> (true, "NaN", "sqrt", (-1.0,), [1], 112)
told(nan_check(x -> f32(x) * 2, 1e300; inf = true))  #> (true, "infinity", "conversion", (1e+300,), [], 113)
told(nan_check(z -> z / (z - z), 1 + 2im; inf = true))[..2]  #> (true, "infinity")
told(nan_check(z -> sum(abs(log(z) * 0)), [1 + 2im, 0]))[..3]        #> (true, "NaN", "*")
nan_check(z -> sum(abs(log(z) * 0)), [1 + 2im, 0]; inf = true).operation     #> log

# Infinities.
told(nan_check(x -> sum(exp(x)), [1, 1000.0]; inf = true))   #> (true, "infinity", "exp", (1000.0,), [1], 119)
told(nan_check(x -> sum(exp(x)), [1, 1000.0]))       #> (false, "", "", (), [], 0)
told(nan_check(x -> 1 / exp(x), 1000.0; inf = true)) #> (false, "infinity", "exp", (1000.0,), [], 121)
told(nan_check(x -> 2x, [1, inf]; inf = true))       #> (true, "infinity", "argument", (), [1], 0)
told(nan_check(x -> { y = exp(x); y - y }, 1000.0; inf = true))      #> (true, "infinity", "exp", (1000.0,), [], 123)

# A program that fails, prints, or draws random numbers.
r = nan_check(x -> cholesky([sqrt(x), 0; 0, -1]), -1.0)
(r.found, r.operation)               #> (true, "sqrt")
r = nan_check(() -> sqrt(sum(rand(3)) - 5))
r.operation                          #> sqrt
seed(1)
a = rand()
seed(1)
r = nan_check(() -> rand() * nan)
rand() == a                          #> true

# A nested call.
nan_check(x -> { r = nan_check(y -> log(y), x); if r.found { sqrt(x) } else { x } }, -1.0).operation #> sqrt

# Rules of library functions under map: reports the calling line.
lowest(q) = real(polyroots([q, 0.0, 1.0])[0])
r = nan_check(v -> map(grad(lowest), v), [0.5, 0.0])
(r.line, r.column, r.function, r.derivative, r.index)        #> (140, 18, "polyroots", "reverse", [1, 0])
part(q) = gammainc(q, q)
r = nan_check(v -> map(grad(part), v), [0.5, 0.0])
(r.line, r.column, r.operation, r.operands, r.derivative)    #> (143, 11, "gamma_density", (0.0, 0.0), "reverse")
contains(r.message, "the derivative (reverse) of `gammainc(q, q)`")   #> true
steep(x) = x / (1 + sqrt(x))
derivative steep(x) = 1 / sqrt(x) * x
r = nan_check(grad(v -> sum(map(steep, v))), [1.0, 0.0])
(r.line, r.derivative)               #> (148, "reverse")
contains(r.message, "in the rule of a derivative (reverse), ")      #> true
len(split(r.message, "in steep, called at")) #> 3
# Results compare field by field, also with types known at run time only.
told_of(x) = nan_check(v -> sqrt(v), x)
alike(x, y) = told_of(x) == told_of(y)
(alike(1.0, 4.0), alike(1.0, -1.0), (told_of(1.0), 2) != (told_of(1.0), 2))  #> (true, false, false)
(told_of(1.0).operation, 1) == (told_of(4.0).operation, 1)           #> true
