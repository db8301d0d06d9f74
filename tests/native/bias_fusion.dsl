# Bias fusion: in x @ W + b the tiles add b to their finished sums when the
# product has no other use.
#
# Oracle: the same program with the product as a second result, which is not
# fused; the results are bit-identical. Long results use streaming stores and
# are computed in two passes.

table(n, m, s) = [((3*i + 7*j + s) % 31)/16 - 0.9 for i in 0..n, j in 0..m]
line(n) = [((5*i) % 13)/8 - 0.7 for i in 0..n]
apart(p, q) = sum(abs(p - q[1]))

one(x: f64[m, k], W: f64[k, n], b: f64[n]) -> f64[m, n] = x @ W + b
two(x: f64[m, k], W: f64[k, n], b: f64[n]) = { p = x @ W; (p, p + b) }
turned(x: f64[m, k], W: f64[n, k], b: f64[n]) -> f64[m, n] = b + x @ W'
turned_two(x: f64[m, k], W: f64[n, k], b: f64[n]) = { p = x @ W'; (p, b + p) }
narrow(x: f32[m, k], W: f32[n, k], b: f32[n]) -> f32[m, n] = x @ W' + b
narrow_two(x: f32[m, k], W: f32[n, k], b: f32[n]) = { p = x @ W'; (p, p + b) }

x = table(5000, 20, 0)
long = table(70001, 20, 0)
W = table(20, 20, 1)
wide = table(20, 37, 2)
deep = table(5000, 300, 3)
down = table(36, 300, 4)
p1 = one(x, W, line(20))
q1 = two(x, W, line(20))
apart(p1, q1) #> 0.0
p2 = one(x, wide, line(37))
q2 = two(x, wide, line(37))
apart(p2, q2) #> 0.0
p3 = one(x[..9, ..], wide, line(37))
q3 = two(x[..9, ..], wide, line(37))
apart(p3, q3) #> 0.0
p4 = one(long, W, line(20))
q4 = two(long, W, line(20))
apart(p4, q4) #> 0.0
p5 = turned(x, W, line(20))
q5 = turned_two(x, W, line(20))
apart(p5, q5) #> 0.0
p6 = turned(long, W, line(20))
q6 = turned_two(long, W, line(20))
apart(p6, q6) #> 0.0
p7 = turned(deep, down, line(36))
q7 = turned_two(deep, down, line(36))
apart(p7, q7) #> 0.0
p8 = turned(x, wide', line(37))
q8 = turned_two(x, wide', line(37))
apart(p8, q8) #> 0.0
p9 = turned(x, W[..5, ..], line(5))
q9 = turned_two(x, W[..5, ..], line(5))
apart(p9, q9) #> 0.0
p10 = narrow(f32(x), f32(W), f32(line(20)))
q10 = narrow_two(f32(x), f32(W), f32(line(20)))
apart(p10, q10) #> 0.0
p11 = narrow(f32(deep), f32(down), f32(line(36)))
q11 = narrow_two(f32(deep), f32(down), f32(line(36)))
apart(p11, q11) #> 0.0
one(zeros(2, 0), zeros(0, 3), [1.0, 2, 3])                                     #> [[1, 2, 3], [1, 2, 3]]

# Many small products. With 16 terms and one vector of columns they are inlined
# into the loop over them. Integers, so that every order of summation gives the
# same result.
cubes(q, n, m, s) = [((3*i + 7*j + 5*p + s) % 31) - 15.0 for p in 0..q, i in 0..n, j in 0..m]
products(a: f64[q, n, k], b: f64[q, k, m]) -> f64[q, n, m] = map((u, v) -> u @ v, a, b)
products_f32(a: f32[q, n, k], b: f32[q, k, m]) -> f32[q, n, m] = map((u, v) -> u @ v, a, b)
sums(a, b) = [sum(a[q, i, ..]*b[q, .., j]) for q in 0..len(a), i in 0..shape(a)[1], j in 0..shape(b)[2]]
r = products_f32(f32(cubes(40, 19, 16, 0)), f32(cubes(40, 16, 16, 1)))
max(abs(r - f32(sums(cubes(40, 19, 16, 0), cubes(40, 16, 16, 1))))) #> 0.0
p13 = products(cubes(40, 16, 16, 0), cubes(40, 16, 8, 1))
max(abs(p13 - sums(cubes(40, 16, 16, 0), cubes(40, 16, 8, 1)))) #> 0.0
p14 = products(cubes(40, 5, 16, 0), cubes(40, 16, 8, 1))
max(abs(p14 - sums(cubes(40, 5, 16, 0), cubes(40, 16, 8, 1)))) #> 0.0
p15 = products(cubes(40, 32, 32, 0), cubes(40, 32, 32, 1))
max(abs(p15 - sums(cubes(40, 32, 32, 0), cubes(40, 32, 32, 1)))) #> 0.0
p16 = products(cubes(40, 30, 9, 0), cubes(40, 9, 64, 1))
max(abs(p16 - sums(cubes(40, 30, 9, 0), cubes(40, 9, 64, 1)))) #> 0.0
