# Operation counts of derivatives: upper bounds that must not be exceeded.

use "../../bench/programs/ba.dsl" as ba
use "../../bench/programs/gmm.dsl" as gmm
use "../../bench/programs/lstm.dsl" as lstm

# ---- gradients: ADBench's objectives, with its golden values

# Bundle adjustment: one observation, then 300 of 20 cameras and 100 points.
camera = [1.797201, 0.590697, -0.635786, 90.859550, 29.361415, 28.777534, 211.628116, -0.284531, -14.762924, 0.058931, 0.069976]
point = [4.173048, 5.586898, 1.403869]
seen = [-525.672849, 161.811929]
ba.reprojection(camera, point, 0.417022, seen)       #~ [-0.26904884923523686, 0.25994479267793746] tol 1e-9
one = ba.jacobians(stack(camera), stack(point), [0.417022], [0], [0], stack(seen));
shape(one)                   #> (1, 2, 15)
one[0, .., 0]                #~ [228.8772022082468, -120.54243599499694] tol 1e-9
cameras = stack(...map(k -> camera, (...(0..20))))
points = broadcast_to(point, 100, 3) + 0.1*reshape(sin(1.0*iota(300)), 100, 3)
weights = 0.4 + 0.001*iota(300)
by = mod(7*iota(300), 20)
at = mod(3*iota(300), 100)
views = 100*reshape(sin(1.0*iota(600)), 300, 2)
check_grad(((c, x, w)) -> ba.objective(c, x, w, mod(by[..9], 8), at[..9], views[..9]),
  (cameras[..8], points[..25], weights[..9])).reverse_forward < 1e-12  #> true
cost(ba.step, cameras, points, weights, by, at, views)/cost(ba.objective, cameras, points, weights, by, at, views) < 3.2 #> true
cost(ba.jacobians, cameras, points, weights, by, at, views)/cost(ba.objective, cameras, points, weights, by, at, views) < 6 #> true

# Mixture of Gaussians: the small golden case (the program omits constants),
# then the size of the benchmark.
alphas = [-0.649014, 1.181166, -0.758453]
means = [0.092339, 0.186260; 0.345561, 0.396767; 0.538817, 0.419195]
icf = [0.586443, -0.851887, 0.800321; -1.509405, 0.875874, -0.242790; 0.166813, -1.965419, -1.270071]
(value, slope, _, _) = gmm.step(alphas, means, icf, [1.175171, 2.029160]' |> stack)
value + 3*(6*0.5*log(2) + 0.5*log(π) + log(sqrt(π)/2))       #~ 8.073804080049758
slope                        #~ [0.10866285550865246, -0.7412700395238985, 0.6326071840152461]
a = sin(1.0*iota(25))
m = reshape(sin(0.7*iota(250)), 25, 10)
q = 0.3*reshape(sin(0.2*iota(25*55)), 25, 55)
x = reshape(cos(1.0*iota(10000)), 1000, 10)
cost(gmm.step, a, m, q, x)/cost(gmm.objective, a, m, q, x) < 2       #> true

# The recurrent network, over 20 letters.
main = reshape(sin(1.0*iota(224)), 2, 2, 4, 14)
extra = reshape(cos(1.0*iota(42)), 3, 14)
state = reshape(sin(0.3*iota(56)), 2, 2, 14)
text = f64(reshape(mod(iota(280)*7, 11) < 3, 20, 14))
lstm.objective(main, extra, state, text)     #~ 0.8118365460507297
check_grad(((m, e)) -> lstm.objective(m, e, state, text), (main, extra)).reverse_forward < 1e-13     #> true
cost(lstm.objective, main, extra, state, text) > 19*800      #> true
cost(lstm.step, main, extra, state, text)/cost(lstm.objective, main, extra, state, text) < 2.8       #> true

# ---- high derivatives in one variable: k derivatives cost about k times the
# function, in any notation

deep = mlp([1, 32, 32, 32, 1])
u(w, x) = apply(deep, w, [x])[0]
ten(w, x, k) = nth_derivative(s -> u(w, s), x, k)
plain = cost(u, deep.weights, 0.3)
cost((w, x) -> ten(w, x, 1), deep.weights, 0.3)/plain < 2.1  #> true
cost((w, x) -> ten(w, x, 2), deep.weights, 0.3)/plain < 3.2  #> true
cost((w, x) -> ten(w, x, 4), deep.weights, 0.3)/plain < 5.5  #> true
cost((w, x) -> ten(w, x, 8), deep.weights, 0.3)/plain < 10.8 #> true
cost((w, x) -> ten(w, x, 10), deep.weights, 0.3)/plain < 13.7        #> true
primes(w, x) = (s -> u(w, s))''''(x)
cost(primes, deep.weights, 0.3)/plain < 5.5  #> true
primes(deep.weights, 0.3) - ten(deep.weights, 0.3, 4)        #~ 0

# ---- sums of second derivatives: the Laplacian is one extra Taylor coefficient
# in addition to the first derivatives

net(w, x) = tanh(w[2] @ tanh(w[1] @ tanh(w[0] @ x))) · w[3]
ws(d) =
  (0.3*reshape(sin(1.0*iota(32*d)), 32, d), 0.2*reshape(sin(1.1*iota(32*32)), 32, 32), 0.2*reshape(cos(1.0*iota(32*32)), 32, 32),
    sin(1.0*iota(32)))
lap(w, x) = laplacian(y -> net(w, y))(x)
mixed(w, x, r, s) = jvp(p -> jvp(q -> net(w, q), p, r)[1], x, s)[1]
(w2, w10, w100) = (ws(2), ws(10), ws(100))
(x2, x10, x100) = ([0.3, -0.7], sin(1.0*iota(10)), sin(1.0*iota(100)))
cost(lap, w2, x2)/(2cost(mixed, w2, x2, x2, 2x2)) < 0.6      #> true
cost(lap, w10, x10)/(10cost(mixed, w10, x10, x10, 2x10)) < 0.35      #> true
cost(lap, w100, x100)/(100cost(mixed, w100, x100, x100, 2x100)) < 0.3        #> true
lap(w2, x2)/sum(map(e -> mixed(w2, x2, e, e), eye(2)))       #~ 1 tol 1e-13
lap(w10, x10)/sum(map(e -> mixed(w10, x10, e, e), eye(10)))  #~ 1 tol 1e-13
lap(w100, x100)/sum(map(e -> mixed(w100, x100, e, e), eye(100)))     #~ 1 tol 1e-13

# ---- residuals of equations and their gradients with respect to the weights

wide = mlp([2, 20, 20, 20, 1])
v(w, t, x) = apply(wide, w, [t, x])[0]
kdv(w, t, x) = (s -> v(w, s, x))'(t) + 6v(w, t, x)*(s -> v(w, t, s))'(x) + (s -> v(w, t, s))'''(x)
train(w, t, x) = value_and_grad(w -> kdv(w, t, x)^2)(w)
once(w, t, x) = value_and_grad(w -> v(w, t, x))(w)
cost(train, wide.weights, 0.1, 0.2)/cost(once, wide.weights, 0.1, 0.2) < 5   #> true
check_grad(w -> kdv(w, 0.1, 0.2)^2, wide.weights).reverse_forward < 1e-12    #> true

# Three second derivatives share the first ones.
bend(w, x, y) = (s -> v(w, s, y))''(x)*(s -> v(w, x, s))''(y) - (s -> (r -> v(w, r, s))'(x))'(y)^2
cost(bend, wide.weights, 0.1, 0.2)/cost(v, wide.weights, 0.1, 0.2) < 6.2     #> true
