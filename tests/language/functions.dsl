# Functions: arguments, closures, recursion. Oracle: expected values.

f(x) = x^2
f(3)                         #> 9
f(x, y) = x + y              # a new definition replaces the old one
f(3, 4)                      #> 7
g(x; k = 2) = k * x
g(5)                         #> 10
g(5; k = 3)                  #> 15
g(5, k = 3)                  #> 15
h(x, n = 2) = x^n
h(3)                         #> 9
h(3, 3)                      #> 27
h(3, n = 4)                  #> 81
opts = (k = 7)
g(1, ...opts)                #> 7
args = (3, 4)
f(...args)                   #> 7
d(x, y = x + 1) = x * y
d(3)                         #> 12
(x -> x + 1)(2)              #> 3
((x, y) -> x * y)(2, 3)      #> 6
(() -> 42)()                 #> 42
k() = 7
k()                          #> 7
apply(f, x) = f(x)
apply(sin, 0.5)              #~ sin(0.5)
apply(x -> x^2, 3)           #> 9
twice(f) = x -> f(f(x))
twice(x -> 2x)(5)            #> 20
twice(twice(x -> x + 1))(0)  #> 4
adder(n) = x -> x + n
add5 = adder(5)
add5(1)                      #> 6
adder(1)(2)                  #> 3
compose3(f, g, h) = f ∘ g ∘ h
compose3(x -> x + 1, x -> 2x, x -> x^2)(3)   #> 19

# Closures capture by value.
n = 10
c = x -> x + n
n = 20
c(1)                         #> 11
v = 1
uses_v(x) = x + v
v = 100
uses_v(1)                    #> 2
counter() = { fs = list(); for i in (1, 2, 3) { fs = push(fs, x -> x + i) }; fs }
counter()[0](10)             #> 11
counter()[2](10)             #> 13
outer1(x) = { y = 2x; inner(z) = y + z; inner(1) }
outer1(3)                    #> 7
nest(a) = { f(b) = { g(c) = a + b + c; g(3) }; f(2) }
nest(1)                      #> 6

# Functions are looked up when they are called.
later(x) = helper(x) + 1
helper(x) = 10x
later(2)                     #> 21
helper(x) = 100x
later(2)                     #> 201

# Recursion.
fact(n) = if n <= 1 { 1 } else { n * fact(n - 1) }
fact(10)                     #> 3628800
fib(n) = if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
fib(20)                      #> 6765
even(n) = if n == 0 { true } else { odd(n - 1) }
odd(n) = if n == 0 { false } else { even(n - 1) }
even(10)                     #> true
odd(7)                       #> true
ack(m, n) = if m == 0 { n + 1 } else if n == 0 { ack(m - 1, 1) } else { ack(m - 1, ack(m, n - 1)) }
ack(2, 3)                    #> 9
power(x, n) = if n == 0 { 1.0 } else if n % 2 == 0 { power(x * x, n // 2) } else { x * power(x, n - 1) }
power(1.1, 25)               #~ 1.1^25
hanoi(n) = if n == 0 { 0 } else { 2hanoi(n - 1) + 1 }
hanoi(20)                    #> 1048575
sumto(v, i) = if i == len(v) { 0 } else { v[i] + sumto(v, i + 1) }
sumto([1, 2, 3, 4], 0)       #> 10
simpson(f, a, b) = (b - a) / 6 * (f(a) + 4f((a + b) / 2) + f(b))
adapt(f, a, b, tol) = {
  m = (a + b) / 2
  whole = simpson(f, a, b)
  halves = simpson(f, a, m) + simpson(f, m, b)
  if abs(halves - whole) < 15tol { halves + (halves - whole) / 15 } else { adapt(f, a, m, tol / 2) + adapt(f, m, b, tol / 2) }
}
adapt(exp, 0.0, 1.0, 1e-10)  #~ e - 1 tol 1e-10

# Annotations check types and bind extents.
layer(p: (W: f64[m, n], b: f64[m]), x: f64[n]) -> f64[m] = tanh(p.W @ x + p.b)
layer((W = [1.0, 0; 0, 1], b = [0.0, 0]), [0.5, -0.5])       #~ tanh([0.5, -0.5])
first(x: f64[n]) = x[0] + n
first([1.5, 2])              #> 3.5
sq(x: f64) -> f64 = x * x
sq(3)                        #> 9.0
dtype(sq(3))                 #> f64
mat(A: f64[n, n]) = n
mat([1, 2; 3, 4])            #> 2
two(x: f64[2]) = x[0]
two([1, 2])                  #> 1.0
anyshape(x: f64[...]) = rank(x)
anyshape([1, 2; 3, 4])       #> 2
anyshape(1)                  #> 0
mixed(x: f64[_, k], y: i64[k]) = k
mixed([1, 2; 3, 4], [1, 2])  #> 2
sized(n, x: f64[n]) = x[n - 1]
sized(2, [3, 4])             #> 4.0
half(x: f64[2m]) = m
hof(f: function, x: f64) = f(x)
hof(sin, 0.5)                #~ sin(0.5)

# A local name hides the global one.
t = [1, 2, 3]
local(x) = { for i in 0..3 { t = x * i }; x }
local(2)                     #> 2
branch(x) = { if x > 0 { t = x } else { t = -x }; t }
branch(-4)                   #> 4
early(x) = x + much_later
much_later = 5
early(1)                     #> 6
much_later = 7
early(1)                     #> 8
