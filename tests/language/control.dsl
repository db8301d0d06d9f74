# if, for, while, break, continue, return, try, blocks. Oracle: expected values.

if true { 1 } else { 2 }     #> 1
if 1 > 2 { 1 } else { 2 }    #> 2
if 1 > 2 { 1 } else if 2 > 1 { 5 } else { 2 }        #> 5
if 2 > 1 { 7 }               #> 7
above(x) = if x > 0 { 5 }
above(3)                     #> 5
above(-3) |> kind            #> none
rows(x) = if x > 0 { [1.0, x] } else if x < -1 { [x, x] }
rows(3)                      #> [1, 3]
rows(-3)                     #> [-3, -3]
kind(rows(-1))               #> none
squared(x) = { if x > 0 { x^2 } }
squared(3.0) + 1             #> 10.0
last_of(x) = { s = x; if s > 2 { s += 1 } }
kind(last_of(3))             #> none
early(x) = { if x > 2 { return 7 }; 8 }
early(3) + early(1)          #> 15
x = 3
y = if x > 2 { "big" } else { "small" }
y                            #> big
{ a = 1; b = 2; a + b }      #> 3
s = 0
for i in 0..5 { s += i }
s                            #> 10
s = 0
for v in [1, 2, 3] { s += v }
s                            #> 6
s = 0
for v in [1, 2; 3, 4] { s += v[1] }
s                            #> 6
s = 0
for i in 10..0 by -3 { s += i }
s                            #> 22
for i in 0..0 { s = 100 }
s                            #> 22
s = 0
for (a, b) in ((1, 2), (3, 4)) { s += a * b }
s                            #> 14
s = ""
for w in ("a", "b", "c") { s = s + w }
s                            #> abc
n = 27
steps = 0
while n != 1 { n = if n % 2 == 0 { n // 2 } else { 3n + 1 }; steps += 1 }
steps                        #> 111
s = 0
for i in 0..10 { if i == 5 { break }; s += i }
s                            #> 10
s = 0
for i in 0..10 { if i % 2 == 0 { continue }; s += i }
s                            #> 25
s = 0
for i in 0..4 { for j in 0..4 { if j > i { break }; s += 1 } }
s                            #> 10
s = 0
for i in 0..4 { for j in 0..4 { if j == 1 { continue }; if i == 2 { break }; s += 10i + j } }
s                            #> 135
k = 0
while true { k += 1; if k >= 7 { break } }
k                            #> 7

# Inside functions: early return, also from loops.
sgn(x) = { if x > 0 { return 1 }; if x < 0 { return -1 }; 0 }
sgn(5)                       #> 1
sgn(-5)                      #> -1
sgn(0)                       #> 0
first_over(v, c) = { for i in 0..len(v) { if v[i] > c { return i } }; -1 }
first_over([1, 5, 9], 4)     #> 1
first_over([1, 5, 9], 40)    #> -1
first_over(iota(100), 41)    #> 42
find2(A, c) = {
  for i in 0..len(A) { for j in 0..len(A[0]) { if A[i, j] == c { return (i, j) } } }
  (-1, -1)
}
find2([1, 2; 3, 4], 3)       #> (1, 0)
find2([1, 2; 3, 4], 9)       #> (-1, -1)
collatz(n) = { k = 0; while true { if n == 1 { return k }; n = if n % 2 == 0 { n // 2 } else { 3n + 1 }; k += 1 } }
collatz(27)                  #> 111
g(x) = { if x > 0 { y = 2x } else { y = -x }; y }
g(3)                         #> 6
g(-3)                        #> 3
h(n) = { t = 0.0; for i in 0..n { if i % 3 == 0 { continue }; if i > 7 { break }; t += i }; t }
h(20)                        #> 19.0
nothing(x) = { if x > 0 { return }; 5 }
isprime(n) = { if n < 2 { return false }; k = 2; while k * k <= n { if n % k == 0 { return false }; k += 1 }; true }
isprime(97)                  #> true
isprime(91)                  #> false
count(n) = { c = 0; for i in 0..n { if isprime(i) { c += 1 } }; c }
count(50)                    #> 15

# Names set in a branch or loop.
p(x) = { r = 0; if x { r = 1 }; r }
p(true)                      #> 1
p(false)                     #> 0
q(c) = { if c { m = 1 } else { m = 2 }; m }
q(true) + q(false)           #> 3
shadow(x) = { for i in 0..3 { x = x + i }; x }
shadow(10)                   #> 13
loopvar(n) = { last = -1; for i in 0..n { last = i }; last }
loopvar(4)                   #> 3

# A loop's values may grow, change from integer to real, or change extent.
grow(n) = { v = [0]; for i in 1..n { v = concat(v, [i]) }; v }
grow(4)                      #> [0, 1, 2, 3]
halve(x) = { for i in 0..3 { x = x / 2 }; x }
halve(8)                     #> 1.0
newton(f, x; tol = 1e-12) = {
  for k in 0..50 { dx = f(x) / f'(x); x = x - dx; if abs(dx) < tol { break } }
  x
}
newton(x -> x^2 - 2, 1.0)    #~ sqrt(2)
newton(x -> x^2 - 2, 1)      #~ sqrt(2)
newton(cos, 1.0)             #~ pi/2
newton(x -> x^2 - 2, 1.0; tol = 1e-3)        #~ sqrt(2) tol 1e-6
bisect(f, a, b) = { while b - a > 1e-13 { m = (a + b) / 2; if f(a) * f(m) <= 0 { b = m } else { a = m } }; (a + b) / 2 }
bisect(x -> x^3 - 2, 0.0, 2.0)       #~ cbrt(2)
agm(a, b) = { while abs(a - b) > 1e-15 { (a, b) = ((a + b) / 2, sqrt(a * b)) }; a }
agm(1.0, 2.0)                #~ 1.4567910310469068

# try.
try { error("no") } catch e { "caught {e}" }         #> caught no
try { 5 } catch e { 7 }      #> 5
t(x) = try { if x < 0 { error("negative") }; sqrt(x) } catch e { -1.0 }
t(4.0)                       #> 2.0
t(-4.0)                      #> -1.0
try { [1, 2, 3][steps] } catch e { 0 }   #> 0
safe(f, x) = try { f(x) } catch e { none }
kind(safe(x -> x + 1, 2))    #> array
safe(x -> x + 1, 2)          #> 3
u(n) = { c = 0; for i in 0..n { c = try { if i % 2 == 0 { error("even") }; c + 1 } catch e { c + 100 } }; c }
u(4)                         #> 202
try { assert(1 > 2, "sums") } catch e { "{e}" }      #> sums
assert(1 < 2)
w(x) = { try { if x > 1 { error("big {x}") } } catch e { return "{e}" }; "small" }
w(5)                         #> big 5
w(0)                         #> small
# Early returns of one type keep that type.
kind(sgn(5))                 #> array
kind(first_over([1, 5], 4))  #> array
kind(find2([1, 2; 3, 4], 3)) #> tuple
kind(collatz(27))            #> array
kind(isprime(7))             #> array
kind(w(5))                   #> string

# Facts about a value of one branch do not hold for that of the other.
first_large(v) = { large = f64(v > 9); if max(large) > 0 { argmax(large) } else { -1 } }
is_there(v) = first_large(v) >= 0
is_there([1.0, 2.0])         #> false
is_there([1.0, 20.0])        #> true

# One branch exits and the other fails: the code after them never runs, and the
# names that they would set are not needed.
leaves(x: f64) = { y = if x > 2 { return 3.0 } else { error("low") }; y + 1 }
leaves(rand() + 3)   #> 3.0
try { str(leaves(rand())) } catch e { e }    #> low
breaks(x: f64) = { s = 0.0; for i in 0..5 { if i > x { s = s + 10; break } else { if x > 9 { error("high") } else { s = s + 1 } } }; s }
breaks(2.5 + 0*rand())      #> 13.0
try { str(breaks(10 + rand())) } catch e { e }   #> high
goes_on(x: f64) = { for i in 0..3 { if x > i { continue } else { error("here {i}") } ; x = 100.0 }; x }
goes_on(5 + 0*rand())     #> 5.0
try { str(goes_on(1.5 + 0*rand())) } catch e { e }    #> here 2
# ---- arrays changed in place in nested branches
v = [0.1, 0.3, 0.5, 0.9, 0.25, 0.7]
nested(v) = { a = zeros(len(v)); for i in 0..len(v) { if v[i] > 0.2 { if v[i] < 0.8 { a[i] = v[i] } else { a[i] = 7.0 } } }; a }
nested(v)            #> [0, 0.3, 0.5, 7, 0.25, 0.7]
three(v) = { a = v; for i in 1..len(v) { if v[i] > 0.2 { if v[i] < 0.8 { if a[i - 1] > 0.2 { a[i] = a[i] + a[i - 1] } } ; a[0] = a[0] + 1 } else { a[i] = -1.0 } }; a }
three(v)             #~ [5.1, 0.3, 0.8, 0.9, 1.15, 1.85]
# The old contents are needed in the other branch, afterwards, or by another
# array.
kept(v) = { a = v; b = 0 * v; for i in 0..len(v) { old = a; if v[i] > 0.2 { if v[i] < 0.8 { a[0] = a[0] + 1 } }; b[i] = old[0] }; (a, b) }
kept(v)              #~ ([4.1, 0.3, 0.5, 0.9, 0.25, 0.7], [0.1, 0.1, 1.1, 2.1, 2.1, 3.1])
swapped(v) = { a = v; b = 2v; for i in 0..len(v) { if v[i] > 0.2 { if v[i] < 0.8 { (a, b) = (b, a); a[i] = 0.0 } else { b[i] = 1.0 } } }; (a, b) }
swapped(v)           #~ ([0.1, 0.3, 0, 0.9, 0.25, 0], [0.2, 0, 1, 1, 0, 1.4])
# `clock` keeps its place in program order: machine code, too, runs the
# operations of a loop between the two calls (128 million operations).
measured(n) = {
  A = sin(reshape(iota(n * n), n, n) * 0.7)
  (B, ts, s) = (A, zeros(4), 0.0)
  for k in 0..4 {
    A[0, 0] = s
    began = clock()
    C = A @ B
    ts[k] = clock() - began
    s = C[0, 0] * 1e-3
  }
  ts
}
min(measured(400)) > 1e-5   #> true
