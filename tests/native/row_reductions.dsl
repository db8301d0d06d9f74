# Reductions of rows: short rows, extremes and cumulative sums of long rows.
# Oracle: expected values and element-wise loops.
softmax(x) = { e = exp(x - expand(max(x; axis = 1), 1)); e / sum(e; axis = 1, keepdims = true) }
x = [sin(3i + j^2) for i in 0..20, j in 0..50]
y = softmax(x)
max(abs(sum(y; axis = 1) - 1)) < 1e-14                                   #> true
argmax(y; axis = 1)                                                      #> [11, 46, 45, 38, 33, 29, 3, 10, 3, 31, 25, 17, 41, 22, 18, 39, 26, 49, 20, 8]
several(x) = { y = softmax(x); (sum(y), argmax(y; axis = 1), cumsum(y; axis = 1)[.., -1], min(y; axis = 1)) }
several(x)[0]                                                            #~ 20 tol 1e-13
several(x)[1] == argmax(y; axis = 1)                                     #> [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true]
max(abs(several(x)[2] - 1)) < 1e-13                                      #> true
several(x)[3] == min(y; axis = 1)                                        #> [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true]
max(abs(several(x')[2] - 1)) < 1e-13                                     #> true
centred(x) = exp(x - mean(x; axis = 0))
max(abs(centred(x) - map(c -> exp(c - mean(c)), x')')) < 1e-14           #> true

# A layer whose rows are not a multiple of the vector.
layer(x, w, b) = tanh(x @ w' + b)
w = [cos(i + 2j) for i in 0..20, j in 0..50]
b = linspace(-1, 1, 20)
slowly(x, w, b) = [tanh(x[i] · w[j] + b[j]) for i in 0..len(x), j in 0..len(b)]
max(abs(layer(x, w, b) - slowly(x, w, b))) < 1e-12                       #> true
max(abs(layer(x[..7], w[..17], b[..17]) - slowly(x[..7], w[..17], b[..17]))) < 1e-12  #> true
max(abs(layer(x, w[..1], b[..1]) - slowly(x, w[..1], b[..1]))) < 1e-12   #> true
dtype(layer(f32(x), f32(w), f32(b)))                                     #> f32
max(abs(layer(f32(x), f32(w), f32(b)) - slowly(x, w, b))) < 1e-4         #> true

# Long rows.
z = [if i % 7 == 3 { -0.0 } else if i % 5 == 0 { 0.0 } else { -1.0*(i % 5) } for i in 0..20000]
max(z)                                                                   #> 0.0
1/max(z)                                                                 #> inf
1/max(min(z, -0.0))                                                      #> -inf
1/min(-z)                                                                #> -inf
max(concat(z, [nan, 1]))                                                 #> nan
max(concat(z, [3], z))                                                   #> 3.0
t = [1/(i + 1) for i in 0..5000]
abs(cumsum(t)[-1] - sum(t)) < 1e-13                                      #> true
min(cumsum(t)[1..] - cumsum(t)[..-1]) > 0                                #> true
cumsum(t; reverse = true)[0] - sum(t)                                    #~ 0 tol 1e-13

# The initial value of a loop over rows may be a constant array: of equal
# elements or of different ones.
doubled_until(v, start) = {
  n = start
  while any(n < v) { n = where(n < v, 2 * n + 1, n) }
  n
}
at = [3 * i + 1 for i in 0..29];
doubled_until(at, 0 * at)[28]              #> 127
sum(doubled_until(at, 0 * at))             #> 1877
sum(doubled_until(at, [i for i in 0..29])) #> 1709
sum(doubled_until(at, i64(0 * linspace(0.0, 2, 29))))   #> 1877

# The quotient of a row by its sum is rounded once. A product with the
# reciprocal would differ in many elements.
exact_softmax(x) = { e = exp(x - expand(max(x; axis = 1), 1)); (e, sum(e; axis = 1), e / sum(e; axis = 1, keepdims = true)) }
by_one(e, s) = {
  q = zeros_like(e)
  for i in 0..len(e) {
    for j in 0..len(e[0]) {
      q[i, j] = e[i, j] / s[i]
    }
  }
  q
}
divides(n) = {
  (e, s, q) = exact_softmax(8rand(60, n) - 4)
  (all(q == by_one(e, s)), any(q != e * expand(1/s, 1)))
}
divides(5)     #> (true, true)
divides(37)    #> (true, true)
divides(130)   #> (true, true)
