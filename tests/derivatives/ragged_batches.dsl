# Under map each batch element may have arrays of its own extents, if none of
# them is a result. Operations on such arrays run one element after the other,
# and so do their derivatives. Oracle: a list of single calls.
ts = [0.4, 0.3, 6.0, 1.9]
each(f, v) = [f(t) for t in v]

# A nested loop whose trip counts differ between elements and iterations: its
# gradient keeps a tape of tapes.
nested(t) = { x = t; s = 0.0; while x < 5 { y = x; while y < 2 { y = y * y + y + 0.1 }; x = x * x + y; s = s + y }; x + s }
map(nested, ts)                              #~ each(nested, ts)
map(grad(nested), ts)                        #~ each(nested', ts)
map(grad(grad(nested)), ts)                  #~ each(nested'', ts) tol 1e-11
map(grad(grad(grad(nested))), ts)            #~ each(nested''', ts) tol 1e-10
map(t -> jvp(grad(nested), t, 1.0)[1], ts)   #~ each(nested'', ts) tol 1e-11
map(t -> grad(nested')(t), ts)               #~ each(nested'', ts) tol 1e-11
map(t -> taylor(grad(nested), t, 3), ts)     #~ each(t -> taylor(grad(nested), t, 3), ts) tol 1e-9
# Derivatives of the map, once and twice, in every mixture.
total(v) = sum(map(nested, v)^2)
grad(total)(ts)                              #~ each(t -> 2 * nested(t) * nested'(t), ts)
hessian(total)(ts)                           #~ diag(each(t -> 2 * nested'(t)^2 + 2 * nested(t) * nested''(t), ts)) tol 1e-11
twice(t) = 2 * nested'(t) * nested''(t)
grad(v -> sum(map(grad(nested), v)^2))(ts)   #~ each(twice, ts) tol 1e-11
jvp(v -> sum(map(grad(nested), v)^2), ts, ones(4))[1] #~ sum(each(twice, ts)) tol 1e-11
grad(v -> sum(grad(w -> sum(map(nested, w)^2))(v)))(ts)      #~ each(t -> 2 * nested'(t)^2 + 2 * nested(t) * nested''(t), ts) tol 1e-11
jacobian(v -> map(grad(nested), v))(ts)      #~ diag(each(nested'', ts)) tol 1e-11
grad(v -> sum(grad(w -> sum(map(grad(nested), w)^2))(v)))(ts)        #~ each(t -> twice'(t), ts) tol 1e-9
# Nested maps, with a value of the outer one.
map(a -> map(b -> grad(t -> nested(t * b))(a), [1.0, 0.5]), ts)       #~ [[grad(t -> nested(t * b))(a) for b in [1.0, 0.5]] for a in ts]
# Elements leave one loop in different iterations; vectors and captured values;
# reverse over reverse.
norms(v, p) = { x = v; k = 0; while sum(x^2) < 50 { x = x * x + p * x + 0.1; k = k + 1 }; sum(x) + k }
V = [0.4, 0.3; 6.0, 5.0; 1.9, -0.2]
p = 0.7
map(v -> grad(x -> norms(x, p))(v), V)       #~ [grad(x -> norms(x, p))(V[k]) for k in 0..3]
map(v -> hessian(x -> norms(x, p))(v), V)    #~ [hessian(x -> norms(x, p))(V[k]) for k in 0..3] tol 1e-10
grad(q -> sum(map(v -> sum(grad(x -> norms(x, q))(v)^2), V)))(p)      #~ sum([grad(q -> sum(grad(x -> norms(x, q))(V[k])^2))(p) for k in 0..3]) tol 1e-9

# An element that has finished, or never starts, does not change: its next
# iteration would give an infinity or NaN.
steps(t) = {
  x = t;
  s = 0.0;
  while x > 0.1 { y = x; while y > 0.5 { y = y - 0.5 + 0.01 / y; s = s + log(y) }; x = x - sqrt(x) * 0.7; s = s + 1 / x };
  s
}
at = [1.0, 0.0, 0.1, 0.5, -3.0, 2.2]
map(steps, at)                               #~ each(steps, at)
map(grad(steps), at)                         #~ each(steps', at) tol 1e-11
map(grad(grad(steps)), at)                   #~ each(steps'', at) tol 1e-8
grad(v -> sum(map(grad(steps), v)))(at)      #~ each(steps'', at) tol 1e-8

# Extents that follow from the data: each element determines its own number of
# nodes or elements.
nodes(t) = sum(linspace(0, t, i64(3 + 4t))^2)
map(nodes, [0.5, 1, 2.2])                    #~ each(nodes, [0.5, 1, 2.2])
map(nodes', [0.5, 1, 2.2])                   #~ each(nodes', [0.5, 1, 2.2])
map(grad(nodes), [0.5, 1, 2.2])              #~ each(nodes', [0.5, 1, 2.2])
picked(x) = { above = x[x > 1.2]; len(above) * sum(above^3) }
X = [1.0, 2, 3; 3, 4, 0.5; 0, 0, 1]
map(picked, X)                               #~ [picked(X[k]) for k in 0..3]
map(grad(picked), X)                         #~ [grad(picked)(X[k]) for k in 0..3]
hessian(Y -> sum(map(picked, reshape(Y, 3, 3))))(ravel(X))[1]        #~ concat([0, 24.0], zeros(7))
# Before and after such operations the elements are computed together; two such
# operations.
pair(x, c) = { a = tanh(x) * c; u = a[a > 0]; m = sum(u) * sin(c); w = x[x < m]; (sum(exp(w)) + m, m * a) }
map(pair, X, [0.3, 0.7, -1.1])[0]            #~ [pair(X[k], [0.3, 0.7, -1.1][k])[0] for k in 0..3]
map(pair, X, [0.3, 0.7, -1.1])[1]            #~ [pair(X[k], [0.3, 0.7, -1.1][k])[1] for k in 0..3]
grad(c -> sum(map(pair, X, c)[0]))([0.3, 0.7, -1.1])  #~ [grad(c -> pair(X[k], c)[0])([0.3, 0.7, -1.1][k]) for k in 0..3]
# Arrays that grow in a loop as far as an element needs, in a branch that some
# elements take, and where one fails.
grown(t) = { v = [t]; while v[-1] < 5 { v = push(v, v[-1] * 1.5 + 0.1) }; sum(v * iota(len(v))) }
map(grown, ts)                               #~ each(grown, ts)
map(grad(grown), ts)                         #~ each(grown', ts)
map(grad(grad(t -> grown(t)^2)), ts)         #~ each((t -> grown(t)^2)'', ts)
branch(t) = { v = if t > 1 { linspace(0, t, i64(10 * t)) } else { [t, t^2] }; sum(cos(v)) }
map(branch, ts)                              #~ each(branch, ts)
map(grad(branch), ts)                        #~ each(branch', ts)
failing(t) = try { v = linspace(0, t, i64(t)); v[1] * t } catch m { -t }
map(failing, ts)                             #~ each(failing, ts)
map(failing', [3.0, 1.5, 6.0])               #~ each(failing', [3.0, 1.5, 6.0])
# The same trip count for all elements, other extents in each iteration.
turns(t) = { s = 0.0; for k in 0..3 { y = t; while y < 2 + k { y = y * y + y + 0.1 }; s = s * y + y }; s }
map(grad(turns), ts)                         #~ each(turns', ts)
map(grad(grad(turns)), ts)                   #~ each(turns'', ts) tol 1e-11
# Output appears element by element. An index beyond an element's own end fails
# in that element.
map(t -> { v = linspace(0, t, i64(t)); print("{t} {len(v)}"); sum(v) }, [3.0, 2.0]);
#> 3.0 3 2.0 2
try { map(t -> { v = linspace(0, t, i64(t)); v[2] }, [5.0, 3.0, 2.0]) } catch m { -1.0 }     #~ -1
# Solutions at the times that the integrator chose.
decayed(k) = ode((t, y) -> -k * y, [1.0], (0.0, 1.0), rtol = 1e-9, atol = 1e-12).y(0.7)[0]
ks = [0.5, 1.0, 3.0]
map(decayed, ks)                             #~ exp(-0.7 * ks) tol 1e-8
map(grad(decayed), ks)                       #~ -0.7 * exp(-0.7 * ks) tol 1e-7
grad(v -> sum(map(decayed, v)))(ks)          #~ -0.7 * exp(-0.7 * ks) tol 1e-7
# An empty batch.
map(nested, zeros(0))                        #> []
map(grad(nested), zeros(0))                  #> []
# Inside a loop that all elements run together: a loop that they leave one by
# one, its condition, and a branch.
inloop(x) = { s = 0.0; for k in 0..3 { s = s + k * sum(x[x > k]^2) + len(x[x > s]) }; s }
map(inloop, X)                               #~ [inloop(X[k]) for k in 0..3]
map(grad(inloop), X)                         #~ [grad(inloop)(X[k]) for k in 0..3]
inwhile(x) = { y = x; while sum(y) < 20 { y = y + 0.5 * sum(y[y > 1]) + 1 }; sum(y) }
map(inwhile, X)                              #~ [inwhile(X[k]) for k in 0..3]
map(grad(inwhile), X)                        #~ [grad(inwhile)(X[k]) for k in 0..3]
map(x -> hessian(y -> inwhile(y)^2)(x), X)   #~ [hessian(y -> inwhile(y)^2)(X[k]) for k in 0..3]
incond(x) = { y = x; while len(y[y > 2]) < 2 { y = y * 1.5 + 0.1 }; sum(y) }
map(incond, X)                               #~ [incond(X[k]) for k in 0..3]
map(grad(incond), X)                         #~ [grad(incond)(X[k]) for k in 0..3]
inbranch(x) = if sum(x) > 5 { prod(x[x > 1]) } else { sqrt(1 + sum(x[x < 2])) }
map(inbranch, X)                             #~ [inbranch(X[k]) for k in 0..3]
map(grad(inbranch), X)                       #~ [grad(inbranch)(X[k]) for k in 0..3]
grad(Y -> sum(map(inbranch, reshape(Y, 3, 3))))(ravel(X))    #~ ravel(stack(...map(x -> grad(inbranch)(x), (X[0], X[1], X[2]))))
# Random numbers of each element's own.
seed(3)
drawn = map(t -> { v = linspace(0, t, i64(2 + t)); sum(v * rand(3)[0]) }, [1.0, 2.0, 3.0, 1.0]);
drawn[0] != drawn[3]                         #> true

# Next to a ragged extent, an array grows equally in every element. The
# operations that define or use the ragged extent are deferred.
both(x) = {
  k = 3 + i64(floor(x[0]));
  u = iota(k) * x[1] / 3;
  a = [x[2]];
  for i in 0..4 { a = concat(a, tanh(a[-1..] * 0.5 + i)) };
  sum(a) + sum(u)
}
B = [0.3, 0.4, 2; 1.5, 0.3, 0.1]
map(both, B)                                 #~ [both(B[k]) for k in 0..2]
map(grad(both), B)                           #~ [grad(both)(B[k]) for k in 0..2]
map(x -> jvp(grad(both), x, x)[1], B)        #~ [jvp(grad(both), B[k], B[k])[1] for k in 0..2]
