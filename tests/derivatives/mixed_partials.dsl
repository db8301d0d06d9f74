# Sums of mixed derivatives by Taylor expansions in several directions, where
# that is cheaper than nested expansions. Oracle: the nested derivatives term by
# term. The operation counts are upper bounds or exact.

g(x, y) = exp(sin(x * y) * x) / (1 + x^2 + y^2)
xx(x, y) = (s -> g(s, y))''(x)
yy(x, y) = (s -> g(x, s))''(y)
xy(x, y) = (s -> (r -> g(r, s))'(x))'(y)
xxxx(x, y) = (s -> g(s, y))''''(x)
yyyy(x, y) = (s -> g(x, s))''''(y)
xxyy(x, y) = (s -> (r -> g(r, s))''(x))''(y)
x6(x, y) = (s -> g(s, y))''''''(x)
y6(x, y) = (s -> g(x, s))''''''(y)
x4y2(x, y) = (s -> (r -> g(r, s))''''(x))''(y)
x2y4(x, y) = (s -> (r -> g(r, s))''(x))''''(y)
(a, b) = (0.3, -0.7)

# The second derivative along (1, 1) is one expansion.
along(x, y) = (s -> g(s, y))''(x) + 2(s -> (r -> g(r, s))'(x))'(y) + (s -> g(x, s))''(y)
along(a, b)                                  #~ xx(a, b) + 2xy(a, b) + yy(a, b)
cost(along, a, b)                            #> 37.0
# Any other sum of second derivatives with constant factors: two.
skew(x, y) = 3xx(x, y) - 0.7xy(x, y) / 2 + 5yy(x, y)
skew(a, b)                                   #~ 3xx(a, b) - 0.35xy(a, b) + 5yy(a, b)
# The cube of the Laplacian: four, along the axes and between them.
three(x, y) = x6(x, y) + 3x4y2(x, y) + 3x2y4(x, y) + y6(x, y)
three(a, b)                                  #~ x6(a, b) + 3x4y2(a, b) + 3x2y4(a, b) + y6(a, b)
cost(three, a, b)                            #> 469.0

# Its square: three would do, but nested expansions are cheaper.
two(x, y) = xxxx(x, y) + 2xxyy(x, y) + yyyy(x, y)
two(a, b)                                    #~ xxxx(a, b) + 2xxyy(a, b) + yyyy(a, b)
cost(two, a, b)                              #> 205.0
# For a network the expansions in directions are cheaper.
net = mlp([2, 20, 20, 20, 1])
W = net.weights
u(w, x, y) = apply(net, w, [x, y])[0]
u4(w, x, y) = (s -> u(w, s, y))''''(x)
u22(w, x, y) = (s -> (r -> u(w, r, s))''(x))''(y)
u04(w, x, y) = (s -> u(w, x, s))''''(y)
biharmonic(w, x, y) = u4(w, x, y) + 2u22(w, x, y) + u04(w, x, y)
biharmonic(W, a, b)                          #~ u4(W, a, b) + 2u22(W, a, b) + u04(W, a, b)
cost(biharmonic, W, a, b)/cost(u, W, a, b) < 12.4    #> true
cost((w, x, y) -> value_and_grad(w -> biharmonic(w, x, y)^2)(w), W, a, b)/cost(u, W, a, b) < 41.2      #> true
check_grad(w -> biharmonic(w, a, b)^2, W).reverse_forward < 1e-12    #> true
map((x, y) -> biharmonic(W, x, y), [a, b, 0.1], [b, a, 0.2])  #~ [biharmonic(W, a, b), biharmonic(W, b, a), biharmonic(W, 0.1, 0.2)]
(x -> biharmonic(W, x, b))'(a)               #~ (x -> u4(W, x, b))'(a) + 2(x -> u22(W, x, b))'(a) + (x -> u04(W, x, b))'(a)

# Other terms, varying factors, a sum that is used twice, two functions, two
# points.
more(x, y) = { l = along(x, y); l * x + sin(l) + g(x, y) + (s -> g(s, y))'(x) }
more(a, b)                                   #~ along(a, b) * a + sin(along(a, b)) + g(a, b) + (s -> g(s, b))'(a)
varied(x, y) = x * xx(x, y) + 2y * xy(x, y) + yy(x, y) + (xx(x, y) + 2xy(x, y) + yy(x, y)) * 3
varied(a, b)                                 #~ a * xx(a, b) + 2b * xy(a, b) + yy(a, b) + 3(xx(a, b) + 2xy(a, b) + yy(a, b))
h(x, y) = cos(x * x * y) + g(y, x)
hxx(x, y) = (s -> h(s, y))''(x)
hxy(x, y) = (s -> (r -> h(r, s))'(x))'(y)
hyy(x, y) = (s -> h(x, s))''(y)
both(x, y) = xx(x, y) + 2xy(x, y) + yy(x, y) - (hxx(x, y) - 2hxy(x, y) + hyy(x, y))
both(a, b)                                   #~ along(a, b) - hxx(a, b) + 2hxy(a, b) - hyy(a, b)
places(x, y) = along(x, y) - along(y, x) + along(2x, y)
places(a, b)                                 #~ along(a, b) - along(b, a) + along(2a, b)
# One scalar in both arguments; a direction other than 1; captured values that
# vary, too.
same(x) = along(x, x)
same(a)                                      #~ xx(a, a) + 2xy(a, a) + yy(a, a)
stretched(x, y) = (s -> g(x + 2s, y))''(0.0) + 2(s -> (r -> g(x + 2r, y + s))'(0.0))'(0.0) + (s -> g(x, y + s))''(0.0)
stretched(a, b)                              #~ 4xx(a, b) + 4xy(a, b) + yy(a, b)
caught(x, y) = {
  k = x * y;
  q = (s, t) -> sin(k * s + t * t) * exp(t);
  (s -> q(s, y))''(x) - 2(s -> (r -> q(r, s))'(x))'(y) + (s -> q(x, s))''(y)
}
caught(a, b)                                 #~ (k -> (s -> sin(k*s + b*b) * exp(b))''(a) - 2(s -> (r -> sin(k*r + s*s) * exp(s))'(a))'(b) + (s -> sin(k*a + s*s) * exp(s))''(b))(a * b)
# Three variables: the square of d/dx + d/dy + d/dz.
f3(x, y, z) = exp(sin(x * y) * z) / (1 + x^2 + y^2 + z^2)
d1(x, y, z) = (s -> f3(s, y, z))''(x) + (s -> f3(x, s, z))''(y) + (s -> f3(x, y, s))''(z)
d2(x, y, z) = (s -> (r -> f3(r, s, z))'(x))'(y) + (s -> (r -> f3(r, y, s))'(x))'(z) + (s -> (r -> f3(x, r, s))'(y))'(z)
cube(x, y, z) = d1(x, y, z) + 2d2(x, y, z)
cube(a, b, 0.2)                              #~ (s -> f3(a + s, b + s, 0.2 + s))''(0.0)
cost(cube, a, b, 0.2) < 60                   #> true
# Branches and loops in the expanded function.
bent(x, y) = { s = x; for k in 0..3 { s = s * y + sin(x) }; if x > 0 { s^2 } else { s } }
bends(x, y) = (s -> bent(s, y))''(x) - 2(s -> (r -> bent(r, s))'(x))'(y) + (s -> bent(x, s))''(y)
bends(a, b)                                  #~ (s -> bent(a + s, b - s))''(0.0)
bends(-a, b)                                 #~ (s -> bent(-a + s, b - s))''(0.0)
# Arrays.
vec(x, y) = sin(x * [1.0, 2, 3] + y * y) * x
vs(x, y) = (s -> vec(s, y))''(x) + 2(s -> (r -> vec(r, s))'(x))'(y) + (s -> vec(x, s))''(y)
vs(a, b)                                     #~ (s -> vec(a + s, b + s))''(0.0)
# The same by nth_derivative: one nested expansion, and four directions instead.
X(f, m) = (x, y) -> nth_derivative(s -> f(s, y), x, m)
Y(f, m) = (x, y) -> nth_derivative(s -> f(x, s), y, m)
cost(Y(X(g, 2), 2), a, b)                    #> 126.0
again(x, y) = X(g, 6)(x, y) + 3Y(X(g, 4), 2)(x, y) + 3Y(X(g, 2), 4)(x, y) + Y(g, 6)(x, y)
again(a, b)                                  #~ three(a, b)
cost(again, a, b)                            #> 469.0
# A function that prints does so as often as without the transformation.
noisy(x, y) = { print("!"); sin(x * y) }
noises(x, y) = (s -> noisy(s, y))''(x) + 2(s -> (r -> noisy(r, s))'(x))'(y) + (s -> noisy(x, s))''(y)
noises(a, b);
#> ! ! !
