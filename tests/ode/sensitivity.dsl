# Derivatives through ode() and solve(): forward sensitivities and adjoints,
# against published values and finite differences.
# As users run it only: compiling all of it takes long.
# In a long check only: it takes half a minute.

problem robertson(k = [0.04, 1e4, 3e7]) {
  domain t in [0, 100]
  field y[3]
  r1 = k[0]*y[0]
  r2 = k[1]*y[1]*y[2]
  r3 = k[2]*y[1]^2
  y_t == [r2 - r1, r1 - r2 - r3, r3]
  y == [1, 0, 0] at t = 0
}
at(k) = solve(robertson(k), bdf(), rtol = 1e-11, atol = 1e-15).y(0.4)
J = jacobian(at)([0.04, 1e4, 3e7]);
# dy/dk1 at t = 0.4, recomputed in extended precision
J[.., 0]  #~ [-0.3559525659828556, 3.902544053818219e-4, 0.3555623115774737] tol 1e-6
grad(k -> at(k)[2])([0.04, 1e4, 3e7])[0]  #~ 0.3555623115774737 tol 1e-6

# Lotka-Volterra: reverse against forward mode
problem lotka(a = 1.5, c = 3.0, x0 = 1.0) {
  domain t in [0, 3]
  field x, y
  x_t == a*x - x*y
  y_t == -c*y + x*y
  x == x0  at t = 0
  y == 1.0 at t = 0
}
end(p) = solve(lotka(p[0], p[1], p[2]), bdf(), rtol = 1e-11, atol = 1e-13).x(3.0)
p = [1.5, 3.0, 1.0];
g = grad(end)(p);
h = 1e-4;
d = [(end(p + h*[1.0, 0, 0]) - end(p - h*[1.0, 0, 0]))/(2h), (end(p + h*[0, 1.0, 0]) - end(p - h*[0, 1.0, 0]))/(2h),
  (end(p + h*[0, 0, 1.0]) - end(p - h*[0, 0, 1.0]))/(2h)];
norm(g - d) / norm(d)  #~ 0.0 tol 1e-6
jvp(end, p, [1.0, 2, 3])[1] - g @ [1.0, 2, 3]  #~ 0.0 tol 1e-6

# a parameter of a partial differential equation, by the method of lines
problem burgers(ν = 0.01/π) {
  domain t in [0, 1], x in [-1, 1]
  field u
  u_t + u*u_x == ν*u_xx
  u == -sin(π*x) at t = 0
  u == 0         at x = -1, x = 1
}
end_value(ν) = solve(burgers(ν), fd(n = 128), rtol = 1e-9, atol = 1e-11).u(1, 0.5)
slope = (end_value(0.0201) - end_value(0.0199)) / 0.0002;
grad(end_value)(0.02) / slope  #~ 1.0 tol 1e-5
grad(ν -> solve(burgers(ν), fd(n = 128)).u(1, 0.5))(0.02) / slope  #~ 1.0 tol 1e-5
end_spectral(ν) = solve(burgers(ν), chebyshev(n = 64), rtol = 1e-9, atol = 1e-11).u(1, 0.5)
grad(end_spectral)(0.02) / ((end_spectral(0.0201) - end_spectral(0.0199)) / 0.0002)  #~ 1.0 tol 1e-4

# Derivatives of every order in every mixture of modes. Oracle: the exact
# solution of the logistic equation.
logistic(p) =
  ode((t, y) -> [p[0] * y[0] * (1 - y[0] / p[1])], [p[2]], (0.0, 1.0), rtol = 1e-11, atol = 1e-13,
    saveat = [0.5, 1.0]).values[-1, 0]
exact(p) = p[1] / (1 + (p[1] / p[2] - 1) * exp(-p[0]))
q = [1.5, 2.0, 0.3]
v = [0.3, -0.2, 0.1]
grad(logistic)(q)            #~ grad(exact)(q) tol 1e-9
hessian(logistic)(q)         #~ hessian(exact)(q) tol 1e-9
jacobian(hessian(logistic))(q)       #~ jacobian(hessian(exact))(q) tol 1e-8
grad(p -> sum(hessian(logistic)(p)^2))(q)    #~ grad(p -> sum(hessian(exact)(p)^2))(q) tol 1e-8
along(f) = p -> grad(f)(p) @ v
grad(along(along(logistic)))(q)      #~ grad(along(along(exact)))(q) tol 1e-8
grad(along(along(along(logistic))))(q)       #~ grad(along(along(along(exact))))(q) tol 1e-7
taylor(s -> logistic(q + s*v), 0.0, 4)       #~ taylor(s -> exact(q + s*v), 0.0, 4) tol 1e-9
jvp(p -> jvp(grad(logistic), p, v)[1], q, v)[1]      #~ jvp(p -> jvp(grad(exact), p, v)[1], q, v)[1] tol 1e-8

# CVODES' cvsRoberts: the gradient of the integral of y3 up to t = 50. The
# integral is one more equation. Values recomputed in extended precision.
roberts(k) = ode((t, y) -> {
  a = k[0] * y[0]
  b = k[1] * y[1] * y[2]
  c = k[2] * y[1]^2
  [b - a, a - b - c, c, y[2]]
}, [1.0, 0, 0, 0], (0.0, 50.0), rtol = 1e-11, atol = 1e-15, saveat = [25.0, 50.0]).values[-1, 3]
k0 = [0.04, 1e4, 3e7]
grad(roberts)(k0) / [173.4140891449773, -5.059191405586188e-04, 8.432346465422593e-08]       #~ [1, 1, 1] tol 1e-6
jacobian(roberts)(k0) / [173.4140891449773, -5.059191405586188e-04, 8.432346465422593e-08]   #~ [1, 1, 1] tol 1e-6

# root() of a function that integrates: a shooting method, and its derivatives.
shoot(p) =
  root(s -> ode((t, y) -> [y[1], -p * y[0]], [0.0, s], (0.0, 1.0), rtol = 1e-11, atol = 1e-12,
    saveat = [0.5, 1.0]).values[-1, 0] - 1, 1.0)
shoot(1.0)                   #~ 1 / sin(1) tol 1e-9
shoot'(1.0)                  #~ (p -> sqrt(p) / sin(sqrt(p)))'(1.0) tol 1e-8
shoot''(1.0)                 #~ (p -> sqrt(p) / sin(sqrt(p)))''(1.0) tol 1e-7
grad(shoot)(1.0)             #~ (p -> sqrt(p) / sin(sqrt(p)))'(1.0) tol 1e-8

# with an algebraic equation: y' + z = 0, z = p y
problem algebraic(p = 1.0, y0 = 1.0) {
  domain t in [0, 1]
  field y, z
  y_t + z == 0
  z == p * y
  y == y0 at t = 0
}
decayed(p) = solve(algebraic(p[0], p[1]), bdf(), rtol = 1e-10, atol = 1e-12, saveat = [0.5, 1.0]).values[-1, 0]
decay_of(p) = p[1] * exp(-p[0])
at2 = [0.7, 1.3]
v2 = [0.4, -0.3]
grad(decayed)(at2)           #~ grad(decay_of)(at2) tol 1e-8
hessian(decayed)(at2)        #~ hessian(decay_of)(at2) tol 1e-8
hvp(decayed, at2, v2)        #~ hvp(decay_of, at2, v2) tol 1e-8
grad(p -> jvp(decayed, p, v2)[1])(at2)       #~ hvp(decay_of, at2, v2) tol 1e-8
taylor(s -> decayed(at2 + s*v2), 0.0, 3)     #~ taylor(s -> decay_of(at2 + s*v2), 0.0, 3) tol 1e-8
grad(p -> grad(decayed)(p) @ v2)(at2)        #~ hvp(decay_of, at2, v2) tol 1e-8
grad(p -> hvp(decayed, p, v2) @ v2)(at2)     #~ grad(p -> hvp(decay_of, p, v2) @ v2)(at2) tol 1e-7
grad(p -> grad(p -> grad(decayed)(p) @ v2)(p) @ v2)(at2)     #~ grad(p -> hvp(decay_of, p, v2) @ v2)(at2) tol 1e-7
jacobian(hessian(decayed))(at2)      #~ jacobian(hessian(decay_of))(at2) tol 1e-7

# Second and third derivatives of the solution of a partial differential
# equation with respect to its parameters.
problem warm(k = 1.0, a = 1.0) {
  domain t in [0, 0.1], x in [0, 1]
  field u
  u_t == k*u_xx
  u == a*sin(π*x) at t = 0
  u == 0          at x = 0, x = 1
}
middle(p) = solve(warm(p[0], p[1]), chebyshev(n = 20), rtol = 1e-10, atol = 1e-12, saveat = [0.05, 0.1]).u(0.1, 0.5)
decaying(p) = p[1] * exp(-π^2 * 0.1 * p[0])
hessian(middle)([1.0, 1.2])  #~ hessian(decaying)([1.0, 1.2]) tol 1e-8
taylor(k -> middle([k, 1.2]), 1.0, 3)        #~ taylor(k -> decaying([k, 1.2]), 1.0, 3) tol 1e-8
grad(p -> grad(middle)(p)[0])([1.0, 1.2])    #~ hessian(decaying)([1.0, 1.2])[0] tol 1e-8

# A right-hand side that allocates its result, with more unknowns than the
# compiler unrolls.
chain(k) = (t, y) -> { f = zeros(20); f[0] = -k[0] * y[0]; f[1..] = k[0] * y[..-1] - k[1] * y[1..]; f }
left(k) = { y = zeros(20); y[[0]] = [1.0]; ode(chain(k), y, (0.0, 1.0); rtol = 1e-10, atol = 1e-12).y(1.0)[1] }
grad(left)([1.0, 2.0])[1]   #~ -exp(-1) + 2exp(-2) tol 1e-7

# Without a method, reverse mode traverses the steps again if all of them were
# explicit, for any number of unknowns and any output. Otherwise it solves the
# adjoint equations.
# The gradient of the Lorenz 96 equations with respect to 24 forces. Oracles:
# dop853(), which takes the same steps, the adjoint problem of CVODES, and
# finite differences.
ring(F) = (t, y) -> (concat(y[1..], y[..1]) - concat(y[-2..], y[..-2])) * concat(y[-1..], y[..-1]) - y + F
forces = 3.0 + 0.01 * iota(24)
begun = 3.0 + sin(1.0 * iota(24))
weather(F, m, ts) = ode(ring(F), begun, (0.0, 1.0); method = m, rtol = 1e-9, atol = 1e-11, saveat = ts).values
at_once(F, m) = sum(weather(F, m, [1.0])^2)
at_times(F, m) = sum(weather(F, m, [0.2, 0.55, 1.0]) * sin(1.0 * iota(24)))
at_all(F, m) = sum(ode(ring(F), begun, (0.0, F[0] / 3); method = m, rtol = 1e-9, atol = 1e-11).y(0.4)^2)
for loss in list(at_once, at_times, at_all) {
  g = grad(F -> loss(F, auto()))(forces)
  size = max(abs(g))
  assert(max(abs(g - grad(F -> loss(F, dop853()))(forces))) < 1e-12 * size, "the same steps")
  assert(max(abs(g - grad(F -> loss(F, bdf()))(forces))) < 1e-5 * size, "the adjoint problem")
  way = cos(1.0 * iota(24))
  along = h -> loss(forces + h * way, auto())
  assert(abs(g @ way - (along(1e-4) - along(-1e-4)) / 2e-4) < 1e-5 * size, "differences")
  assert(abs(jvp(F -> loss(F, auto()), forces, way)[1] - g @ way) < 1e-11 * size, "forwards")
  assert(abs(hvp(F -> loss(F, auto()), forces, way) @ way - (along(1e-3) - 2along(0.0) + along(-1e-3)) / 1e-6) < 1e-3 * size, "of second order")
}
# ... with implicit steps among them: traversed for few unknowns and the end
# value only.
stiff_ring(F) = (t, y) -> ring(F)(t, y) + 2000 * (concat(y[1..], y[..1]) - 2y + concat(y[-1..], y[..-1]))
smooth(F, m, ts) = sum(ode(stiff_ring(F), begun, (0.0, 1.0); method = m, rtol = 1e-8, atol = 1e-10, saveat = ts).values[-1]^2)
max(abs(grad(F -> smooth(F, auto(), [1.0]))(forces) / grad(F -> smooth(F, bdf(), [1.0]))(forces) - 1)) < 1e-3      #> true
max(abs(grad(F -> smooth(F, auto(), [0.5, 1.0]))(forces) / grad(F -> smooth(F, bdf(), [0.5, 1.0]))(forces) - 1)) < 1e-3      #> true
# Where this would need too much memory, Adams' methods integrate: 1000
# unknowns, 120 times.
many_times = linspace(0.5, 60.0, 120)
drift(p, m) = sum(ode((t, y) -> p[0] * cos(t * (1 + 0.001 * iota(1000))) - p[1] * y + p[2], ones(1000), (0.0, 60.0); method = m, rtol = 1e-9, atol = 1e-11, saveat = many_times).values[-1])
grad(p -> drift(p, auto()))([1.0, 0.1, 0.2]) / grad(p -> drift(p, adams()))([1.0, 0.1, 0.2])       #~ [1, 1, 1] tol 1e-6
