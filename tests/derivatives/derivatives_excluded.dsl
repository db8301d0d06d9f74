# Terms that a condition or an index excludes do not contribute to derivatives
# of any order, in any mode. Their own derivatives may be infinite. Oracle:
# closed forms of the derivatives of the other terms.

# Filters of sums, products and extremes.
f(x) = sum(sqrt(x[i]) for i if x[i] > 0)
grad(f)([0.0, 9.0])                          #~ [0, 1/6]
vjp(f, [0.0, 9.0])[1](2.0)                   #~ [0, 1/3]
jvp(f, [0.0, 9.0], [1.0, 1.0])[1]            #~ 1/6
hessian(f)([0.0, 4.0])                       #~ [0, 0; 0, -1/32]
jacobian(grad(f))([0.0, 4.0])                #~ [0, 0; 0, -1/32]
grad(x -> sum(grad(f)(x)))([0.0, 4.0])       #~ [0, -1/32]
grad(x -> sum(grad(y -> sum(grad(f)(y)))(x)))([0.0, 4.0])   #~ [0, 3/256]
grad(x -> jvp(f, x, [1.0, 1.0])[1])([0.0, 4.0])             #~ [0, -1/32]
jvp(x -> grad(f)(x), [0.0, 4.0], [1.0, 1.0])[1]             #~ [0, -1/32]
taylor(t -> f([0.0, 4.0] + t * [0, 1]), 0.0, 3)             #~ [2, 1/4, -1/64, 1/512]
(t -> f([0.0, 4.0] + t * [0, 1]))'''(0.0)    #~ 3/256
map(t -> grad(f)([0.0, t]), [4.0, 9.0])      #~ [0, 1/4; 0, 1/6]
grad(x -> sum(1/x[i] for i if x[i] != 0))([0.0, 2.0])       #~ [0, -0.25]
grad(x -> sum(x[i]*log(x[i]) for i if x[i] > 0))([0.0, 2.0])      #~ [0, 1 + log(2)]
grad(x -> prod(sqrt(x[i]) for i if x[i] > 0))([0.0, 9.0, 4])      #~ [0, 1/3, 3/4]
grad(x -> max(sqrt(x[i]) for i if x[i] > 0))([0.0, 9.0])    #~ [0, 1/6]
grad(x -> sum(sqrt(abs(x[i] - x[j])) for i, j if i != j))([0.0, 4.0])     #~ [-0.5, 0.5]
# One root in two sums with two conditions.
grad(x -> { r = sqrt(x); sum(r[i] for i if x[i] > 0) + sum(r[i]^2 for i if i > 0) })([0.0, 4.0])   #~ [0, 1.25]
# Complex elements.
grad(z -> sum(abs(sqrt(z[i]))^2 for i if i > 0))([0im, 4 + 0im])  #~ [0, 1]

# Filters of comprehensions.
grad(x -> sum([sqrt(x[i]) for i in 0..2 if i > 0]))([0.0, 4.0])   #~ [0, 0.25]
grad(x -> sum([sqrt(x[i]) for i in 0..3 if x[i] > 0]))([0.0, 4.0, 9.0])   #~ [0, 0.25, 1/6]
hessian(x -> sum([sqrt(x[i]) for i in 0..2 if i > 0]))([0.0, 4.0])        #~ [0, 0; 0, -1/32]
grad(x -> sum(grad(x -> sum([sqrt(x[i]) for i in 0..2 if i > 0]))(x)))([0.0, 4.0])   #~ [0, -1/32]

# Pairs: forces between points.
V(X) = sum(norm(X[i] - X[j])^-6 for i in 0..2, j in 0..2 if i < j)
grad(V)([0.0, 0; 2, 0])                      #~ [6/128, 0; -6/128, 0]
# r^-6 has the second derivatives 42 r^-8 along the axis and -6 r^-8 across it.
hessian(V)([0.0, 0; 2, 0])[0, 0, 0, 0]       #~ 42/256
hessian(V)([0.0, 0; 2, 0])[0, 1, 1, 1]       #~ 6/256
grad(X -> sum(grad(V)(X)^2))([0.0, 0; 2, 0])[0, 0]          #~ 4*(6/128)*(42/256)
# Lennard-Jones, by its force 12 r^-13 - 6 r^-7 at r = 2.
lj(X) = sum({ s = 1/sum((X[i] - X[j])^2)^3; s^2 - s } for i in 0..2, j in 0..2 if i < j)
grad(lj)([0.0, 0; 2, 0])                     #~ [12/8192 - 6/128, 0; -12/8192 + 6/128, 0]
# A vector divided by its norm: the sum over components is singular, too.
F(X) = sum((X[i] - X[j])[0]/norm(X[i] - X[j])^3 for i in 0..2, j in 0..2 if i < j)
grad(F)([0.0, 0; 2, 0])                      #~ [-2/8, 0; 2/8, 0]
# A product of a vector with itself.
grad(X -> sum({ d = 1/(X[i] - X[j]); d @ d } for i in 0..2, j in 0..2 if i < j))([0.0, 0; 2, 1])   #~ [0.25, 2; -0.25, -2]
pairwise(X) = pairwise_distances(X, X)
grad(X -> pairwise(X)[0, 1])([0.0, 0; 3, 4]) #~ [-0.6, -0.8; 0.6, 0.8]
grad(X -> sum(pairwise(X)[i, j] for i, j if i < j))([0.0, 0; 3, 4])       #~ [-0.6, -0.8; 0.6, 0.8]

# `where`, and branches in a map.
grad(x -> sum(where(x > 0, sqrt(x), 0.0)))([0.0, 9.0])      #~ [0, 1/6]
grad(x -> sum(where(x == 0, 1.0, sin(x)/x)))([0.0, 9.0])    #~ [0, cos(9)/9 - sin(9)/81]
grad(x -> sum(where(x > 0, where(x < 5, sqrt(x), 1/(x - 9)), 0.0)))([0.0, 4.0, 9.5])   #~ [0, 0.25, -4]
grad(x -> sum(map(t -> if t > 0 { sqrt(t) } else { 0.0 }, x)))([0.0, 9.0])   #~ [0, 1/6]

# Selected elements.
grad(x -> sqrt(x)[1])([0.0, 4.0])            #~ [0, 0.25]
grad(x -> sqrt(x)[1] + sqrt(x)[2]^2)([0.0, 4.0, 9.0])       #~ [0, 0.25, 1]
hessian(x -> sqrt(x)[1] + sqrt(x)[2]^2)([0.0, 4.0, 9.0])    #~ [0, 0, 0; 0, -1/32, 0; 0, 0, 0]
grad(x -> sum(grad(x -> sqrt(x)[1] + sqrt(x)[2]^2)(x)))([0.0, 4.0, 9.0])  #~ [0, -1/32, 0]
grad(x -> sum(sqrt(x)[[1, 1]]))([0.0, 4.0])  #~ [0, 0.5]
grad(x -> sum(sqrt(x)[x > 0]))([0.0, 4.0])   #~ [0, 0.25]
k = 1
grad(x -> sqrt(x)[k])([0.0, 4.0])            #~ [0, 0.25]

# A zero factor that is data and not a condition excludes nothing: the
# derivative is NaN.
grad(x -> sum(0 * sqrt(x)))([0.0, 4.0])      #> [nan, 0]
grad(x -> sum(sqrt(x)^2))([0.0, 4.0])        #> [nan, 1]
