# Functions stored in files, with calls of solvers and derivative rules. Oracle:
# a loaded function has the value and every derivative of the original.
# Compiled for this machine only: it takes long, and is not about lanes and
# registers.

again(f) = { save("/tmp/atled-ir-stored.air", f); load("/tmp/atled-ir-stored.air") }
near(x, y) = max(abs(x - y)) <= 1e-8 * (1 + max(abs(y)))

# User-defined rules: element-wise, general, one that uses another function with
# a rule, and one that uses itself.
softclip(x) = x / sqrt(1 + x^2)
derivative softclip(x) = (1 + x^2)^(-1.5)
square(x) = x^2 + 1000
derivative square(x), dx = 2 * softclip(x) * dx
s(x) = sin(x)
derivative s(x) = c(x)
c(x) = cos(x)
derivative c(x) = -s(x)
two(x, y) = sum(x * y)
derivative two(x, y), dx, dy = sum(dx * y) + sum(x * dy)

f(x) = softclip(x)^2
original = ir(f, 0.5)
p = again(original)
p(0.5) == f(0.5)                        #> true
p'(0.5) == f'(0.5)                      #> true
near(p''(0.5), f''(0.5))                #> true
near(p'''(0.5), f'''(0.5))              #> true
near(grad(p)(0.5), f'(0.5))             #> true
near(map(p', [0.5, 1]), map(f', [0.5, 1]))   #> true
p = again(p)
near(p''(0.5), f''(0.5))                #> true
p = again(ir(square, 0.5))
p'(3.0) == 2 * softclip(3.0)            #> true
near(p''(3.0), 2 * softclip'(3.0))      #> true
p = again(ir(s, 0.5))
near([p'(1.0), p''(1.0), p'''(1.0), p''''(1.0)], [cos(1.0), -sin(1.0), -cos(1.0), sin(1.0)])   #> true
p = again(ir(two, [1.0, 2], [3.0, 4]))
near(grad(x -> p(x, [3.0, 4]))([1.0, 2]), [3.0, 4])   #> true
near(grad(y -> p([1.0, 2], y^2))([1.0, 2]), [2.0, 8]) #> true
near(hessian(x -> p(x[..2], x[2..]))([1.0, 2, 3, 4]), [0, 0, 1, 0; 0, 0, 0, 1; 1, 0, 0, 0; 0, 1, 0, 0])   #> true

# Linear systems: dense, least squares, sparse.
A = [4.0, 1; 2, 3]
f(a) = linsolve(A + a * eye(2), [1.0, 2])
p = again(ir(f, 0.5))
near(p(0.5), f(0.5))                    #> true
near(p'(0.5), f'(0.5))                  #> true
near(jacobian(p)(0.5), jacobian(f)(0.5))     #> true
near(p''(0.5), f''(0.5))                #> true
B = sparse([0, 1, 1], [0, 0, 1], [2.0, 1, 4], 2, 2)
f(b) = linsolve(B, b)
p = again(ir(f, [1.0, 2]))
near(p([2.0, 9]), [1, 2])               #> true
near(jacobian(p)([2.0, 9]), jacobian(f)([2.0, 9]))    #> true
f(a) = sum(lstsq([1.0, 1; 1, 2; 1, 3], [1.0, a, 2]))
p = again(ir(f, 2.0))
near(p'(2.0), f'(2.0))                  #> true

# Zeros, minima, integrals.
f(a) = root(x -> x^3 - a, 1.0)
p = again(ir(f, 8.0))
near([p(27.0), p'(27.0), grad(p)(27.0), p''(27.0)], [3, 1/27, 1/27, -2/(9*27*9)])    #> true
f(a) = integrate(x -> exp(-a * x^2), 0.0, 2.0)
p = again(ir(f, 1.0))
near([p(2.0), p'(2.0), grad(p)(2.0), p''(2.0)], [f(2.0), f'(2.0), f'(2.0), f''(2.0)])    #> true
f(a) = minimize(x -> sum((x - a)^2) + x[0]^4, [0.0, 0]).x
p = again(ir(f, 1.0))
near(p(2.0), f(2.0))                    #> true
near(p'(2.0), f'(2.0))                  #> true
f(x) = linear_map(v -> 2v, w -> 2w, x) * x
p = again(ir(f, [1.0, 2]))
near(jacobian(p)([1.0, 2]), [4, 0; 0, 8])    #> true
near(grad(x -> sum(p(x)))([1.0, 2]), [4, 8]) #> true

# Differential equations: by SUNDIALS, by the library's own methods, and a
# problem.
f(k) = ode((t, y) -> [y[1], -k * y[0]], [1.0, 0], (0.0, 2.0); method = bdf(), rtol = 1e-9, atol = 1e-11, saveat = [1.0, 2.0]).values[1, 0]
p = again(ir(f, 2.0))
near([p(2.0), p'(2.0), grad(p)(2.0), p''(2.0)], [f(2.0), f'(2.0), grad(f)(2.0), f''(2.0)])    #> true
f(k) = ode((t, y) -> [y[1], -k * y[0]], [1.0, 0], (0.0, 2.0); method = tsit5(), rtol = 1e-9, atol = 1e-11, saveat = [2.0]).values[0, 0]
p = again(ir(f, 2.0))
near([p(2.0), p'(2.0), grad(p)(2.0)], [f(2.0), f'(2.0), grad(f)(2.0)])   #> true
# The default method, which contains all of them: nonstiff, stiff, with all
# steps.
f(k) = ode((t, y) -> [y[1], -k * y[0]], [1.0, 0], (0.0, 2.0); rtol = 1e-9, atol = 1e-11, saveat = [1.0, 2.0]).values[1, 0]
p = again(ir(f, 2.0))
near([p(2.0), p'(2.0), grad(p)(2.0)], [f(2.0), f'(2.0), grad(f)(2.0)])   #> true
f(k) = ode((t, y) -> [1e4 * y[1] * y[2] - k * y[0], k * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1]^2, 3e7 * y[1]^2], [1.0, 0, 0], (0.0, 1e3); saveat = [1e3]).values[0]
p = again(ir(f, 0.04))
near(p(0.04), f(0.04))                  #> true
near(p'(0.04), f'(0.04))                #> true
f(k) = ode((t, y) -> -k * y, ones(3), (0.0, 2.0)).y(1.0)[2]
p = again(ir(f, 2.0))
near([p(2.0), p'(2.0)], [f(2.0), f'(2.0)])   #> true
problem algebraic(k) {
  domain t in [0, 1]
  field u, v
  u_t == -k*u
  sin(v) + v == u
  u == 1 at t = 0
}
f(k) = solve(algebraic(k), bdf(); rtol = 1e-9, atol = 1e-11, saveat = [1.0]).values[0, 1]
p = again(ir(f, 2.0))
near([p(2.0), p'(2.0)], [f(2.0), f'(2.0)])   #> true

# A network that is trained on an equation: loss, gradient and Hessian.
net = mlp([1, 6, 1])
(w, back) = flatten(net.weights)
loss(w) = mean(map(x -> ((x -> apply(net, back(w), [x])[0])'(x) + apply(net, back(w), [x])[0])^2, linspace(0.0, 1, 5))) + (apply(net, back(w), [0.0])[0] - 1)^2
p = again(ir(loss, w))
near(p(w), loss(w))                     #> true
near(grad(p)(w), grad(loss)(w))         #> true
p = again(ir(grad(loss), w))
near(p(w), grad(loss)(w))               #> true

# Content that a file cannot hold is reported.
f(k) = ode((t, y) -> -k * y, [1.0], (0.0, 2.0); method = bdf(), saveat = [1.0, 2.0]).values[1, 0]
try { again(ir(grad(f), 2.0)) } catch m { m }
#> `ode_adjoint`, which this piece of IR calls, is a solver or a function of the program around, which a file cannot hold; a function that calls ode, dae or a sparse solve can be saved itself, and what is loaded be differentiated
