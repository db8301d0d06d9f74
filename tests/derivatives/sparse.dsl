# Sparse derivatives: exact patterns, values bit-identical to the dense ones,
# numbers of colours. Oracle: the dense derivatives.
# Compiled for this machine only: it takes long, and is not about lanes and
# registers.

# Returns (largest difference from the dense Jacobian, excess elements, forward
# products, products with the transpose).
against(f, x) = {
  p = sparsity(f, x)
  A = jacobian(f; sparse = true)(x)
  D = reshape(jacobian(f)(x), len(A.row_start) - 1, len(A.column_start) - 1)
  (max(abs(dense(A) - D)), len(A.values) - sum(D != 0), len(p.group_sizes), len(p.heavy_sizes))
}
x = sin(1 + 0.37 * iota(40)) + 1.5
T = eye(40) + 2 * f64(expand(iota(40), 1) == expand(iota(40), 0) + 1)

# Element-wise: diagonal; a band by slices, by index notation, by gathers.
against(x -> x^2 + sin(x), x)                                            #> (0.0, 0, 1, 0)
against(x -> x[2..] * x[..-2] + x[1..-1], x)                             #> (0.0, 0, 3, 0)
against(x -> [x[i+1] * x[i] - 2x[i] + x[i-1] for i in 1..len(x) - 1], x) #> (0.0, 0, 3, 0)
against(x -> x[(iota(40) + 1) % 40] * x[(iota(40) + 39) % 40], x)        #> (0.0, 0, 2, 0)
against(x -> diff(diff(x^2)), x)                                         #> (0.0, 0, 3, 0)
against(x -> x[[3, 3, 2, 39]] * x[1], x)                                 #> (0.0, 0, 2, 0)
against(x -> { M = reshape(x, 8, 5); [M[i, j] * M[(i + 1) % 8, j] for i, j] }, x)   #> (0.0, 0, 2, 0)

# Arrowhead: the transpose gives the dense row. It also gives the few rows of a
# wide matrix; rows without common columns share a product.
against(x -> concat([sum(x^2)], x[1..] * x[0] + x[1..]^2), x)            #> (0.0, 0, 2, 1)
against(x -> [sum(x^2), prod(x), x[3]], x)                               #> (0.0, 0, 1, 2)
against(x -> sum(x^3), x)                                                #> (0.0, 0, 0, 1)

# Blocks, triangles, constant matrices.
against(x -> map(b -> b * sum(b), reshape(x, 8, 5)), x)                  #> (0.0, 0, 5, 0)
against(x -> map(b -> sum(b^2), reshape(x, 8, 5)), x)                    #> (0.0, 0, 0, 1)
against(x -> map(b -> sum(b^2), reshape(x, 20, 2)), x)                   #> (0.0, 0, 2, 0)
against(x -> concat(map(b -> sum(b^2), reshape(x, 4, 10)), map(b -> prod(b), reshape(x, 5, 8))), x)   #> (0.0, 0, 0, 2)
against(x -> concat(map(b -> sum(b^2), reshape(x, 4, 10)), x^2), x)      #> (0.0, 0, 1, 1)
against(x -> cumsum(x^2), x)                                             #> (0.0, 0, 40, 0)
against(x -> T @ x, x)                                                   #> (0.0, 0, 2, 0)
against(x -> T @ (x * x[0]), x)                                          #> (0.0, 0, 3, 0)
against(x -> T' @ reshape(x, 40, 1) @ [[1.0, 0, 2]], x)                  #> (0.0, 0, 2, 0)
against(x -> diag(x[..6]) @ T[..6, ..6], x)                              #> (0.0, 0, 1, 0)
against(x -> sum(reshape(x, 8, 5)^2; axis = 1), x)                       #> (0.0, 0, 0, 1)
against(x -> { M = reshape(x, 8, 5); M @ M' }, x)                        #> (0.0, 0, 0, 15)
against(x -> reshape(x, 8, 5)', x)                                       #> (0.0, 0, 1, 0)
against(x -> zeros(3), x)                                                #> (0.0, 0, 1, 0)

# Constant conditions and masks. Selections that depend on the point include the
# elements of either side.
against(x -> where(iota(40) < 10, x^2, 0.0) + where(x > 1, x, 2x), x)    #> (0.0, 0, 1, 0)
against(x -> f64(iota(40) % 2 == 0) * x[.. by -1] + x, x)                #> (0.0, 0, 2, 0)
against(x -> if x[0] > 0 { x^2 } else { x * x[1] }, x)                   #> (0.0, 39, 2, 0)
against(x -> max(x[1..], x[..-1]), x)                                    #> (0.0, 39, 2, 0)
against(x -> { k = 0; try { k = 1; x * log(x[1]) } catch m { x } }, x)   #> (0.0, 0, 2, 0)

# Updates.
against(x -> { y = 0 * x; y[2 * iota(20)] = x[..20]; y[0] += x[39]; y[[1, 1, 2]] += x[..3]; y }, x)   #> (0.0, 0, 2, 0)
against(x -> { y = x; y[3..9] = x[..6]^2; y[..] += x[0]; y }, x)         #> (0.0, 0, 2, 0)

# Loops: those of known trip count are followed, others iterate to a fixed
# point.
against(x -> { y = x; for k in 0..3 { y = y[1..] * y[..-1] }; y }, x)    #> (0.0, 0, 4, 0)
against(x -> { y = x; k = 0; while k < 3 { y = y + T @ y; k = k + 1 }; y }, x)       #> (0.0, 0, 4, 0)
against(x -> { y = x; for i in 1..40 { y[i] = 0.5 * y[i-1] * y[i] }; y }, x)         #> (0.0, 0, 40, 0)
against(x -> { y = x; for i in 1..40 { y[i] = 0.1 * x[i-1] * y[i] }; y }, x)         #> (0.0, 0, 2, 0)
against(x -> { y = x; for i in 0..40 { if i % 2 == 0 { y[i] = x[i] * x[39 - i] } }; y }, x)   #> (0.0, 0, 2, 0)
halves(x) = { y = x; while max(y) > 1 { y = 0.5 * y }; y }
against(halves, x)                                                       #> (0.0, 0, 1, 0)
spreads(x) = { y = x; while sum(y) < 500 { y = y + concat(y[1..], [1.0]) * y }; y }
len(jacobian(spreads; sparse = true)(x).values)                          #> 820
max(abs(dense(jacobian(spreads; sparse = true)(x)) - jacobian(spreads)(x)))          #> 0.0
newton(x) = { y = x; for k in 0..20 { if norm(y^2 - x) > 1e-13 { y = 0.5 * (y + x / y) } }; y }
against(newton, x)                                                       #> (0.0, 0, 1, 0)

# An index that depends on the point gives a full row, whatever its present
# value.
len(jacobian(x -> x[argsort(x)]; sparse = true)(x).values)               #> 1600
against(x -> concat(x[..1] * x[argmax(x)], x[1..4]), x[..4])             #> (0.0, 2, 1, 1)

# User-defined rules, rules of factorisations, rules of other derivatives.
soft(x) = x / (1 + abs(x))
derivative soft(x) = 1 / (1 + abs(x))^2
against(x -> soft(x[1..]) * x[..-1], x)                                  #> (0.0, 0, 2, 0)
against(x -> map(b -> linsolve([2.0, 1; 1, 3], b), reshape(x, 20, 2)), x)            #> (0.0, 0, 2, 0)
against(x -> jvp(x -> x[1..] * x[..-1]^2, x, ones(40))[1], x)            #> (0.0, 0, 2, 0)
against(grad(x -> sum((x[1..] - x[..-1])^4)), x)                         #> (0.0, 0, 3, 0)
against(x -> jacobian(x -> x[1..] * x[..-1]^2; sparse = true)(x).values, x)          #> (0.0, 39, 2, 0)

# Structures, shapes, captured values, dtypes.
D = dense(jacobian(p -> p.a * p.b; sparse = true)((a = 2.0, b = x[..3])))
D                                                                        #~ [x[0], 2, 0, 0; x[1], 0, 2, 0; x[2], 0, 0, 2]
dense(jacobian(p -> (p.b[..2], p.a^2); sparse = true)((a = 3.0, b = x[..3])))   #> [[0, 1, 0, 0], [0, 0, 1, 0], [6, 0, 0, 0]]
jacobian(x -> x^2 + x[0]; sparse = true)(f32([1.0, 2, 3])).values        #> [3, 1, 1, 4, 6]
against(x -> stack(sum(x) * im + prod(x[..2]), im * x[0]), x)            #> (0.0, 0, 1, 1)
against(x -> [sum(x[..20])^2 * (1 + 2im), sum(x[20..]) * im], x)         #> (0.0, 0, 0, 1)
jacobian(x -> c64(sum(x) * (2 - im)) * x[..1]; sparse = true)(f32([1.0, 2])).values    #> [8 - 4im, 2 - 1im]
shift(k) = x -> x[k..] * x[..-k]
len(jacobian(shift(2); sparse = true)(x).values)                         #> 76
len(jacobian(shift(3); sparse = true)(x).values)                         #> 74
masked(w) = x -> w * x[1..] + x[..-1]
len(jacobian(masked(f64(iota(39) < 5)); sparse = true)(x).values)        #> 44
len(jacobian(masked(f64(iota(39) < 7)); sparse = true)(x).values)        #> 46
# A captured scalar with the value 0 does not change the pattern, so that it can
# be differentiated.
total(k) = sum(jacobian(x -> k * x[1..] * x[..-1]; sparse = true)(x).values)
total(0.0)                                                               #> 0.0
total'(0.0)                                                              #~ sum(x[1..]) + sum(x[..-1])

# One pattern for many values; the derivative of the values; batches of points.
p = sparsity(x -> x[1..] * x[..-1], x)
J = jacobian(x -> x[1..] * x[..-1]; sparse = p)
max(abs(J(2x).values - jacobian(x -> x[1..] * x[..-1]; sparse = true)(2x).values))   #> 0.0
max(abs(map(x -> J(x).values, stack(x, 2x))[1] - J(2x).values))          #> 0.0
max(abs(map(x -> jacobian(x -> x^2 * x[0]; sparse = true)(x).values, reshape(x, 8, 5))[1] -
  jacobian(x -> x^2 * x[0]; sparse = true)(x[5..10]).values))  #> 0.0

# Hessians: star and acyclic colourings, whichever has fewer colours. Returns
# (right, excess elements, products, products with one product for each
# element).
both(f, x) = {
  H = hessian(f; sparse = true)(x)
  D = hessian(f)(x)
  p = sparsity(grad(f), x; symmetric = true, direct = true)
  E = hessian(f; sparse = p)(x)
  same = max(abs(dense(H) - D)) <= 1e-14 * max(abs(D)) and max(abs(dense(E) - D)) <= 1e-14 * max(abs(D))
  (same, len(H.values) - sum(D != 0), len(sparsity(grad(f), x; symmetric = true).group_sizes), len(p.group_sizes))
}
rosen(x) = sum(100(x[1..] - x[..-1]^2)^2 + (1 - x[..-1])^2)
both(rosen, x)                                                           #> (true, 0, 2, 3)
both(x -> sum(x[0] * x^2) + sum(x^4), x)                                 #> (true, 0, 2, 2)
both(x -> sum(x)^2, x)                                                   #> (true, 0, 40, 40)
both(x -> sum(map(b -> prod(b), reshape(x, 8, 5))), x)                   #> (true, 0, 5, 5)
i = [0, 1, 2, 3, 4, 5, 6, 7, 0, 3]
j = [1, 2, 3, 4, 5, 6, 7, 0, 4, 9]
both(x -> sum((x[i] - x[j])^2 * x[j]), x[..10])                          #> (true, 0, 3, 4)
both(x -> sum(x[1..] * x[(iota(39) * 7) % (iota(39) + 1)]^2), x)         #> (true, 0, 2, 3)
both(x -> sum((x[1..] * x[iota(39) // 2])^2), x)                         #> (true, 0, 2, 3)
both(x -> sum(x[2..] * x[1..-1]^2 * x[..-2]^3), x)                       #> (true, 0, 3, 5)
laplace(x) = { u = reshape(x, 6, 6); 0.5 * (sum((u[1..] - u[..-1])^2) + sum((u[.., 1..] - u[.., ..-1])^2)) + sum(u^4) }
both(laplace, x[..36])                                                   #> (true, 0, 4, 5)
chain(x) = { e = 0.0; for k in 0..len(x) - 1 { e = e + (x[k+1] - x[k])^4 }; e }
both(chain, x[..12])                                                     #> (true, 0, 2, 3)
both(x -> x[0]^2 * x[1], x[..2])                                         #> (true, 0, 2, 2)

# A sum of n / 2 terms in the longest permitted chain: the error is that of
# rounding, relative to the largest element. For longer chains each element is
# recovered from one product.
long = sin(1 + 0.37 * iota(512)) + 1.5
H = hessian(rosen; sparse = true)(long);
max(abs(dense(H) - hessian(rosen)(long))) <= 1e-13 * max(abs(H.values))  #> true
explain(sparsity(grad(rosen), long; symmetric = true))                   #> 512 by 512, 1534 elements: 2 products with the derivative; acyclic colouring, 511 sums of at most 256 terms; systems: banded, 1 diagonal below and 1 above the main one
explain(sparsity(grad(rosen), concat(long, long); symmetric = true))     #> 1024 by 1024, 3070 elements: 3 products with the derivative; systems: banded, 1 diagonal below and 1 above the main one
explain(sparsity(grad(rosen), x; symmetric = true, direct = true))       #> 40 by 40, 118 elements: 3 products with the derivative; systems: banded, 1 diagonal below and 1 above the main one
explain(sparsity(x -> concat([sum(x^2)], x[1..] * x[0] + x[1..]^2), x))  #> 40 by 40, 118 elements: 2 products with the derivative, 1 with its transpose for 1 of the rows; systems: sparse factors; a band would have 38 diagonals below and 38 above the main one in reverse Cuthill-McKee order (18 µs for a factorisation and 8 solves, by sparse factors 3)
explain(sparsity(x -> sum(reshape(x, 8, 5)^2; axis = 1), x))             #> 8 by 40, 40 elements: 0 products with the derivative, 1 with its transpose for 8 of the rows

# On a large grid the trees are kept short; there are still fewer colours than
# with one product for each element.
net(x) = { u = reshape(x, 64, 64); 0.5 * (sum((u[1..] - u[..-1])^2) + sum((u[.., 1..] - u[.., ..-1])^4)) }
z = sin(1 + 0.37 * iota(4096));
p = sparsity(grad(net), z; symmetric = true);
q = sparsity(grad(net), z; symmetric = true, direct = true);
(len(p.group_sizes), len(q.group_sizes))                                 #> (4, 5)
a = hessian(net; sparse = p)(z).values;
max(abs(a - hessian(net; sparse = q)(z).values)) <= 1e-14 * max(abs(a))  #> true

# Elements recovered by sums have derivatives and are batched; other dtypes.
third(x) = sum(hessian(rosen; sparse = true)(x).values * cos(iota(118)))
whole(x) = { H = hessian(rosen)(x); p = sparsity(grad(rosen), x; symmetric = true); sum(H[p.rows, p.columns] * cos(iota(118))) }
max(abs(grad(third)(x) - grad(whole)(x))) <= 1e-13 * max(abs(grad(whole)(x)))        #> true
d = cos(iota(40))
abs(jvp(third, x, d)[1] - jvp(whole, x, d)[1]) <= 1e-12 * abs(whole(x))  #> true
max(abs(hessian(third)(x) - hessian(whole)(x))) <= 1e-13 * max(abs(hessian(whole)(x)))   #> true
max(abs(map(x -> hessian(rosen; sparse = true)(x).values, stack(x, 2x))[1] - hessian(rosen; sparse = true)(2x).values))   #> 0.0
max(abs(f64(hessian(rosen; sparse = true)(f32(x)).values) - hessian(rosen; sparse = true)(x).values)) < 1e-3       #> true
c = taylor(s -> third(x + s * d), 0.0, 3) - taylor(s -> whole(x + s * d), 0.0, 3);
max(abs(c)) <= 1e-12 * abs(whole(x))                                     #> true
turned(x) = grad(rosen)(x) * (1 - 2im)
p = sparsity(turned, x; symmetric = true);
(len(p.group_sizes), max(abs(dense(jacobian(turned; sparse = p)(x)) - hessian(rosen)(x) * (1 - 2im))) < 1e-11)    #> (2, true)
# The pattern contains the colouring; a pattern edited by hand is checked.
p = sparsity(grad(rosen), x; symmetric = true);
(len(p.term), p.most_terms)                                              #> (39, [20])
try { hessian(rosen; sparse = (...p, part_of = 0 * p.part_of))(x).values[0] } catch m { m }    #> the pattern of a sparse derivative: a sum must come before the one it is part of
rows(x) = sum(jacobian(x -> sum(reshape(x, 8, 5)^3; axis = 1); sparse = true)(x).values)
max(abs(grad(rows)(x) - 6x)) < 1e-14                                     #> true
H = hessian(rosen; sparse = sparsity(grad(rosen), x; symmetric = true))(x);
max(abs(H @ x - hvp(rosen, x, x))) < 1e-10                               #> true

# The two-dimensional Brusselator, periodic, on N by N points: 12 elements for
# each point.
brusselator(w) = {
  u = w[0]
  v = w[1]
  N = len(u)
  k = 10.0 * N^2
  L(g) = [g[(i+1) % N, j] + g[(i-1) % N, j] + g[i, (j+1) % N] + g[i, (j-1) % N] - 4g[i, j] for i, j]
  stack(1 + u^2 * v - 4.4u + k * L(u), 3.4u - u^2 * v + k * L(v))
}
at(N) = reshape(1 + 0.3 * sin(iota(2 * N^2)), 2, N, N)
against(brusselator, at(6))                                              #> (0.0, 0, 9, 0)
w = at(64);
p = sparsity(brusselator, w);
len(p.rows) == 12 * 64^2                                                 #> true
len(p.group_sizes) <= 12                                                 #> true
B = jacobian(brusselator; sparse = p)
cost(B, w) <= 12 * cost(brusselator, w)                                  #> true
d = cos(iota(2 * 64^2));
max(abs(B(w) @ d - ravel(jvp(brusselator, w, reshape(d, 2, 64, 64))[1]))) < 1e-8     #> true
