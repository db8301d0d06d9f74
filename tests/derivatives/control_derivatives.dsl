# Derivatives through while loops of unknown trip count, branches, records,
# index updates, recursion, try, closures. Oracle: the complex step, closed
# forms and Cauchy integrals.

# A while loop, an if and a record parameter; x_{k+1} = sqrt(x_k + a). Oracle:
# the complex step and closed forms.
powr(x, p) = { s = 1.0; k = 0; while k < p.n { s = if s > 100 { s * x / 100 } else { s * x * p.scale }; k += 1 }; s }
P = (n = 5, scale = 1.0)
(x -> powr(x, P))'(1.3)              #~ 5 * 1.3^4 tol 1e-13
(x -> powr(x, P))''(1.3)             #~ 20 * 1.3^3 tol 1e-13
(x -> powr(x, P))'''(1.3)            #~ 60 * 1.3^2 tol 1e-13
taylor(x -> powr(x, (n = 10, scale = 1.0)), 1.1, 8)  #~ [1.1^10, 10*1.1^9, 45*1.1^8, 120*1.1^7, 210*1.1^6, 252*1.1^5, 210*1.1^4, 120*1.1^3, 45*1.1^2] tol 1e-12

# Heron's square root of a record, to convergence: f(p) = p.c * sqrt(p.a).
# Derivatives converge after the value and need a few more iterations.
heron(p) = {
  x = 1.0
  k = 0
  while k < 12 or abs(x * x - p.a) > 1e-15 * p.a { x = 0.5(x + p.a / x); k += 1 }
  if p.c > 0 { p.c * x } else { -x }
}
heron((a = 2.0, c = 3.0))            #~ 3sqrt(2)
g = grad(heron)((a = 2.0, c = 3.0))
g.a                                  #~ 1.5 / sqrt(2) tol 1e-11
g.c                                  #~ sqrt(2) tol 1e-11
hessian(heron)((a = 2.0, c = 3.0))   #~ [-0.75 / 2^1.5, 0.5 / sqrt(2); 0.5 / sqrt(2), 0] tol 1e-11
grad(heron)((a = 2.0, c = -3.0))     #~ (a = -0.5 / sqrt(2), c = 0) tol 1e-11
(a -> heron((a = a, c = 1.0)))'''(2.0)       #~ 3/8 * 2^-2.5 tol 1e-11
taylor(a -> heron((a = a, c = 1.0)), 1.0, 8) #~ [1, 1/2, -1/8, 1/16, -5/128, 7/256, -21/1024, 33/2048, -429/32768] tol 1e-11

# A while loop with differing branches, on a vector. Oracle: the complex step.
w(x, p) = {
  s = 0.0 * x[0]
  k = 0
  while k < p.n {
    s = if k % 2 == 0 { s + sin(x[0] * p.c + s) } else { s * cos(x[1]) + x[1]^2 }
    k += 1
  }
  s
}
Q = (n = 7, c = 1.5)
x0 = [0.3, 0.7]
h = 1e-30
cstep(i) = imag(w(x0 + 0im + h * im * f64(iota(2) == i), Q)) / h
grad(x -> w(x, Q))(x0)               #~ [cstep(0), cstep(1)] tol 1e-13
gstep(i) = imag(grad(x -> real(w(x, Q)))(x0)) / h
H = hessian(x -> w(x, Q))(x0)
(t -> grad(x -> w(x, Q))([0.3 + t, 0.7])[0])'(0.0)   #~ H[0, 0] tol 1e-13
(t -> grad(x -> w(x, Q))([0.3, 0.7 + t])[0])'(0.0)   #~ H[0, 1] tol 1e-13
abs(H[0, 1] - H[1, 0]) < 1e-13       #> true
jac2 = jacobian(x -> jacobian(z -> w(z, Q))(x))(x0)
jac2                                 #~ H tol 1e-13
T = taylor(t -> w(x0 + t * [1, 0], Q), 0.0, 8)
T[1]                                 #~ cstep(0) tol 1e-13
2T[2]                                #~ H[0, 0] tol 1e-12
(t -> w([0.3 + t, 0.7], Q))'''(0.0)  #~ 6T[3] tol 1e-11
nth_derivative(t -> w([0.3 + t, 0.7], Q), 0.0, 3)    #~ 6T[3] tol 1e-11
# Order 8. Oracle: a Cauchy integral on a circle.
N = 64
θ = 2π * iota(N) / N
circle = [w([0.3 + 0.2exp(im * θ[k]), 0.7 + 0im], Q) for k in 0..N]
c8 = real(sum(circle * exp(-8im * θ))) / N / 0.2^8
T[8]                                 #~ c8 tol 1e-9

# For loops, nested, with break, continue, early return.
lf(x) = { s = x; for i in 0..10 { if i == 7 { break }; if i % 2 == 1 { continue }; s = s * x }; s }
lf'(1.5)                             #~ 5 * 1.5^4
er(x) = { for i in 1..100 { x = x * 1.1; if x > 10 { return x^2 } }; x }
er'(2.0)                             #~ 2 * 2.0 * 1.1^34 tol 1e-12
er'(1e-9)                            #~ 1.1^99
nest(x) = { s = 0.0; for i in 0..4 { for j in 0..i { s += x^j } }; s }
nest'(2.0)                           #~ 2 + 4
logistic(r, n) = { x = 0.5; for i in 0..n { x = r * x * (1 - x) }; x }
(r -> logistic(r, 10))'(3.2)         #~ imag(logistic(3.2 + 1e-30im, 10)) / 1e-30 tol 1e-12
(r -> logistic(r, 10))''(3.2)        #~ imag((r -> logistic(r, 10))'(3.2 + 1e-30im)) / 1e-30 tol 1e-11

# Index updates.
upd(x) = { x[0] = x[1]^2; x[1] += 3x[0]; x[0] * x[1] }
grad(upd)([1.0, 2.0])                #~ [0, 12 * 2.0^3 + 3 * 2.0^2]
fillup(x) = { v = zeros(5); v[0] = x; for i in 1..5 { v[i] = v[i - 1] * x }; sum(v) }
fillup'(1.5)                         #~ 1 + 2 * 1.5 + 3 * 1.5^2 + 4 * 1.5^3 + 5 * 1.5^4
slices(x) = { x[1..3] = 2x[0..2]; x[.. by 2] += 1; sum(x * [1, 10, 100]) }
grad(slices)([1.0, 2, 3])            #~ [21, 200, 0]
masks(x) = { x[x > 1] = x[0]^2; sum(x) }
grad(masks)([0.5, 2.0, 3.0])         #~ [3, 0, 0]
gath(x) = { i = [2, 0, 0]; sum(x[i] * [1, 2, 3]) }
grad(gath)([1.0, 2, 3])              #> [5, 0, 1]
heat(u, n) = { for k in 0..n { u[1..-1] += 0.1(u[2..] - 2u[1..-1] + u[..-2]) }; sum(u^2) }
c = check_grad(u -> heat(u, 20), sin(iota(12) / 3.0))
c.reverse_forward < 1e-14            #> true
c.differences < 1e-9                 #> true

# Recursion.
pw(x, n) = if n == 0 { 1.0 } else if n % 2 == 0 { pw(x * x, n // 2) } else { x * pw(x, n - 1) }
(x -> pw(x, 13))'(1.1)               #~ 13 * 1.1^12
(x -> pw(x, 13))''(1.1)              #~ 156 * 1.1^11
grad(x -> pw(x, 13))(1.1)            #~ 13 * 1.1^12
taylor(x -> pw(x, 13), 1.0, 3)       #~ [1, 13, 78, 286]
horner(v, x, i) = if i == len(v) { 0.0 } else { v[i] + x * horner(v, x, i + 1) }
grad(v -> horner(v, 2.0, 0))([1.0, 1, 1])    #> [1, 2, 4]
(x -> horner([1.0, 1, 1], x, 0))'(2.0)       #> 5.0

# Closures, higher-order functions, data that grows.
integrate(f, n) = sum(f((i + 0.5) / n) for i in 0..n) / n
(a -> integrate(x -> a * x^2, 10))'(3.0)     #~ integrate(x -> x^2, 10)
iter(f, x, n) = { for i in 0..n { x = f(x) }; x }
(a -> iter(x -> a * x + 1, 1.0, 5))'(0.5)    #~ (a -> 1 + a + a^2 + a^3 + a^4 + a^5)'(0.5)
comp(a) = { fs = (x -> a * x, x -> x^a); fs[0](fs[1](2.0)) }
comp'(3.0)                           #~ 2^3 + 3 * 2^3 * log(2)
grow(x) = { v = [x]; for i in 0..4 { v = concat(v, v[-1..] * x) }; sum(v) }
grow'(2.0)                           #~ 1 + 4 + 12 + 32 + 80
pushes(x) = { v = []; for i in 0..4 { v = push(v, x^(i + 1)) }; sum(v) }
pushes'(2.0)                         #~ 1 + 4 + 12 + 32
tr(x) = try { if x > 1 { error("big") }; x^2 } catch e { x^3 }
tr'(0.5)                             #> 1.0
tr'(2.0)                             #> 12.0
grad(tr)(2.0)                        #> 12.0

# The branch not taken is not differentiated.
safe(x) = if x > 0 { sqrt(x) } else { 0.0 }
safe'(0.0)                           #> 0.0
safe'(4.0)                           #> 0.25
grad(safe)(-1.0)                     #> 0.0
map(safe', [4.0, -1.0])              #> [0.25, 0]

# Branches of different extents of a value that is also used elsewhere.
ends(x, c) = {
  y = x[0..len(x)-1]
  s = sum(y * y)
  z = if c > 0 { y } else { x[0..len(x)-3] }
  s + sum(z)
}
grad(ends)(ones(20), 1.0)            #~ concat(full(3.0, 19), [0])
grad(ends)(ones(20), -1.0)           #~ concat(full(3.0, 17), [2, 2, 0])
bent(x, c) = { z = if c > 0 { x[0..len(x)-1] } else { x[0..len(x)-3] }
  sum(tanh(z)) }
turned(x, c) = sum(grad(bent)(x, c) * x)
bend(x) = (1 - tanh(x)^2) * (1 - 2x * tanh(x))
grad(turned)(ones(20), 1.0)          #~ concat(full(bend(1.0), 19), [0])
grad(turned)(ones(20), -1.0)         #~ concat(full(bend(1.0), 17), [0, 0, 0])
grad(x -> sum(grad(turned)(x, 1.0)))(ones(20))       #~ concat(full(bend'(1.0), 19), [0])
jvp(x -> grad(turned)(x, -1.0), ones(20), ones(20))[1]       #~ concat(full(bend'(1.0), 17), [0, 0, 0])

# map over functions with control flow.
cl(n) = { k = 0; while n > 1 { n = if n % 2 == 0 { n // 2 } else { 3n + 1 }; k += 1 }; k }
map(cl, [1, 2, 3, 27])               #> [0, 1, 7, 111]
map(x -> lf(x), [1.0, 1.5])          #~ [1, 1.5^5]
map(er, [2.0, 1e-9])                 #~ [er(2.0), er(1e-9)]
map(x -> { v = zeros(3); v[1] = x; v }, [5.0, 6.0])  #> [[0, 5, 0], [0, 6, 0]]
map(a -> (r -> logistic(r, 5))'(a), [3.0, 3.2])      #~ [(r -> logistic(r, 5))'(3.0), (r -> logistic(r, 5))'(3.2)]
grad(z -> sum(map(er, z)))([2.0, 3.0])       #~ [er'(2.0), er'(3.0)]
map(pw, [1.5, 2.0], [3, 4])          #~ [1.5^3, 16]

# Gradients under map of loops with different trip counts: each batch element
# has its own part of the tapes.
climb(t) = { x = t; while x < 5 { x = x * x + x + 0.1 }; x }
turns(t, n) = { x = t; for i in 0..n { x = sin(x) * (1 + 0.1 * x * i) }; x }
starts = [0.4, 0.9, 7.0]
map(grad(climb), starts)     #~ [grad(climb)(0.4), grad(climb)(0.9), 1]
map((t, n) -> grad(t -> turns(t, n))(t), starts, [3, 0, 5])  #~ [grad(turns)(0.4, 3), 1, grad(turns)(7.0, 5)]
map(t -> jvp(grad(climb), t, 1.0)[1], starts)        #~ [climb''(0.4), climb''(0.9), 0]
map(t -> grad(climb')(t), starts)    #~ [climb''(0.4), climb''(0.9), 0]
grad(ts -> sum(map(grad(climb), ts)))(starts)        #~ [climb''(0.4), climb''(0.9), 0]
grad(ts -> sum(map(climb, ts)^2))(starts)    #~ 2map(climb, starts) * map(climb', starts)
# The last value is 1.7e8 and magnifies the rounding of a sine. Sines of arrays
# round differently from those of scalars.
map(grad(grad(t -> turns(t, i64(3t)))), starts)      #~ map(t -> turns(t, i64(3t)), starts) * 0 + [nth_derivative(t -> turns(t, 1), 0.4, 2), nth_derivative(t -> turns(t, 2), 0.9, 2), nth_derivative(t -> turns(t, 21), 7.0, 2)] tol 1e-10
swirl(t) = { x = [t, 2t]; s = 0.0; while s < 5 { x = x * x + x[0] + 0.1; s = s + sum(sin(x)) + 1 }; sum(x) }
map(grad(swirl), [0.4, 0.3, 0.9])    #~ [grad(swirl)(0.4), grad(swirl)(0.3), grad(swirl)(0.9)]
leave(t) = { x = t; for i in 0..100 { x = x * x + x + 0.1; if x > 5 { break } }; x }
map(grad(leave), starts)     #~ [grad(leave)(0.4), grad(leave)(0.9), grad(leave)(7.0)]

# A function with a user-defined rule returns an array whose extent differs
# between batch elements.
grown(x) = { v = zeros(1); while sum(v) < x { v = concat(v, ones(2)) }; v }
kept(run) = run()
derivative kept(run), drun = drun()
map(x -> { v = kept(() -> grown(x)); sum(v) + len(v) }, [1.0, 5.0])    #> [5, 13]
