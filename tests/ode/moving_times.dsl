# Derivatives with respect to the times of a solution. Rows move with their
# times: d values[k]/dt_k = f(t_k, y_k). The logistic equation y' = a y (1 -
# y/K) from y(s) = z, against its exact solution; p = (a, K, z, s, T).
rate(p) = (t, y) -> [p[0] * y[0] * (1 - y[0] / p[1])]
exact(p) = p[1] / (1 + (p[1] / p[2] - 1) * exp(-p[0] * (p[4] - p[3])))
of(p, saveat) = ode(rate(p), [p[2]], (p[3], p[4]), method = bdf(), rtol = 1e-11, atol = 1e-13, saveat = saveat)
last(p) = of(p, []).values[-1, 0]
p0 = [1.5, 2.0, 0.3, 0.1, 1.0]
v = [0.3, -0.2, 0.1, 0.15, -0.4]
# The last row is at the end time: forward mode, reverse mode and Taylor series.
last_at(T) = last([1.5, 2.0, 0.3, 0.1, T])
f_end = rate(p0)(1.0, [last(p0)])[0]
last_at'(1.0)                                #~ f_end
grad(last_at)(1.0)                           #~ f_end
taylor(last_at, 1.0, 1)[1]                   #~ f_end
(last_at(1.001) - last_at(0.999)) / 0.002    #~ f_end tol 1e-6
last_at''(1.0)                               #~ (T -> exact([1.5, 2.0, 0.3, 0.1, T]))''(1.0) tol 1e-9
grad(grad(last_at))(1.0)                     #~ (T -> exact([1.5, 2.0, 0.3, 0.1, T]))''(1.0) tol 1e-9
grad(last_at')(1.0)                          #~ (T -> exact([1.5, 2.0, 0.3, 0.1, T]))''(1.0) tol 1e-9
last_at'''(1.0)                              #~ (T -> exact([1.5, 2.0, 0.3, 0.1, T]))'''(1.0) tol 1e-8
# all derivatives together: parameters, initial value, both times
grad(last)(p0)                               #~ grad(exact)(p0) tol 1e-9
jvp(last, p0, v)[1]                          #~ grad(exact)(p0) @ v tol 1e-9
hessian(last)(p0)                            #~ hessian(exact)(p0) tol 1e-8
jacobian(p -> jacobian(last)(p))(p0)         #~ hessian(exact)(p0) tol 1e-8
along(f) = p -> grad(f)(p) @ v
grad(along(along(last)))(p0)                 #~ grad(along(along(exact)))(p0) tol 1e-7
jvp(p -> jvp(grad(last), p, v)[1], p0, v)[1] #~ jvp(p -> jvp(grad(exact), p, v)[1], p0, v)[1] tol 1e-7
grad(p -> jvp(q -> jvp(last, q, v)[1], p, v)[1])(p0)    #~ grad(along(along(exact)))(p0) tol 1e-7
# The first row is at the initial time: its value does not depend on that.
first(p) = of(p, []).values[0, 0]
grad(first)(p0)                              #~ [0, 0, 1, 0, 0]
jvp(first, p0, v)[1]                         #~ v[2]
hessian(first)(p0)                           #~ zeros(5, 5) tol 1e-10
# the times themselves
grad(p -> of(p, []).times[-1])(p0)           #~ [0, 0, 0, 0, 1]
grad(p -> of(p, []).times[0])(p0)            #~ [0, 0, 0, 1, 0]
# output times that move with the end
mid(p) = p[3] + 0.4 * (p[4] - p[3])
saved(p) = of(p, [mid(p), p[4]]).values[0, 0]
saved_exact(p) = exact([p[0], p[1], p[2], p[3], mid(p)])
grad(saved)(p0)                              #~ grad(saved_exact)(p0) tol 1e-9
hessian(saved)(p0)                           #~ hessian(saved_exact)(p0) tol 1e-8
jacobian(p -> jacobian(saved)(p))(p0)        #~ hessian(saved_exact)(p0) tol 1e-8
grad(along(along(saved)))(p0)                #~ grad(along(along(saved_exact)))(p0) tol 1e-7
# A fixed output time: the end does not move the row, the initial time does.
kept(p) = of(p, [0.5, p[4]]).values[0, 0]
kept_exact(p) = exact([p[0], p[1], p[2], p[3], 0.5])
hessian(kept)(p0)                            #~ hessian(kept_exact)(p0) tol 1e-8
# The solution as a function gives the same at its end.
at_end(p) = of(p, []).y(p[4])[0]
grad(at_end)(p0)                             #~ grad(exact)(p0) tol 1e-9
hessian(at_end)(p0)                          #~ hessian(exact)(p0) tol 1e-8
# other methods, a sparse Jacobian, backward in time, several unknowns
adams_end(p) = ode(rate(p), [p[2]], (p[3], p[4]), method = adams(), rtol = 1e-11, atol = 1e-13).values[-1, 0]
hessian(adams_end)(p0)                       #~ hessian(exact)(p0) tol 1e-7
turn(t, y) = [y[1], -y[0]]
circle(T; sparse = false) = ode(turn, [1.0, 0.0], (0.0, T), method = bdf(), rtol = 1e-11, atol = 1e-12, sparse = sparse).values[-1]
jvp(T -> circle(T), 2.0, 1.0)[1]             #~ [-sin(2), -cos(2)] tol 1e-9
jvp(T -> circle(T, sparse = true), 2.0, 1.0)[1]    #~ [-sin(2), -cos(2)] tol 1e-9
jvp(T -> circle(T), -2.0, 1.0)[1]            #~ [sin(2), -cos(2)] tol 1e-9
jvp(T -> jvp(S -> circle(S), T, 1.0)[1], 2.0, 1.0)[1]    #~ [-cos(2), sin(2)] tol 1e-9
# Many parameters, where the gradient uses the adjoint problem: its derivative
# with respect to the times.
w = linspace(0.5, 1.5, 40)
many(q) =
  ode((t, y) -> [-sum(q[..40] * w) / 40 * y[0] + q[0], t * y[0] - q[1] * y[1]], [1.0, 0.0], (0.0, q[40]), rtol = 1e-11,
    atol = 1e-13).values[-1, 1]
q0 = concat(linspace(0.2, 1.0, 40), [1.2]);
G(q) = grad(many)(q)
u = concat(zeros(40), [1.0]);
h = 1e-4;
(G(q0 + h*u) - G(q0 - h*u)) / (2*h)          #~ jvp(G, q0, u)[1] tol 1e-6
hessian(many)(q0)[40]                        #~ jvp(G, q0, u)[1] tol 1e-8
# Where the first and the last time coincide, the only row is the last one.
still(T) = ode(turn, [1.0, 0.0], (0.0, T)).values[-1]
jvp(still, 0.0, 1.0)[1]                      #~ [0.0, -1.0]
jvp(T -> ode(turn, [1.0, 0.0], (T, T)).values[-1], 0.0, 1.0)[1]    #~ [0.0, 0.0]
for m in list(tsit5(), dop853(), rk4(0.1), rodas5p(), radau5(), symplectic(0.1), bdf(), auto()) {
  resting(T) = ode(turn, [1.0, 0.0], (0.0, T); method = m).values[-1]
  assert(max(abs(jvp(resting, 0.0, 1.0)[1] - [0.0, -1.0])) == 0, "{m.name}: forwards")
  assert(max(abs(grad(p -> p[0] * resting(p[1])[1] + p[2])([1.0, 0.0, 1.0]) - [0.0, -1.0, 1.0])) == 0, "{m.name}: in reverse")
}
# problems whose domain, or whose span, ends at an argument
problem growth(T = 1.0) {
  domain t in [0, T]
  field a
  a_t == a * (2 - a)
  a == 0.5 at t = 0
}
grown(t) = 1 / (0.5 + 1.5 * exp(-2 * t))
(T -> solve(growth(T), bdf(), rtol = 1e-11, atol = 1e-13).values[-1, 0])'(1.3)    #~ grown'(1.3) tol 1e-9
(T -> solve(growth(2.0), bdf(), t = (0.0, T), rtol = 1e-11, atol = 1e-13).values[-1, 0])''(1.3)    #~ grown''(1.3) tol 1e-8
(T -> solve(growth(T), bdf(), rtol = 1e-11, atol = 1e-13).a(T))'(1.3)             #~ grown'(1.3) tol 1e-9
problem heat(T = 0.1) {
  domain t in [0, T], x in [0, 1]
  field u
  u_t == u_xx
  u == sin(π*x) at t = 0
  u == 0 at x = 0, x = 1
}
warm(T) = solve(heat(T), chebyshev(n = 20), rtol = 1e-9, atol = 1e-11)
(T -> warm(T).u(T, 0.5))'(0.1)               #~ -π^2 * exp(-0.1*π^2) tol 1e-7
# An equation without a time derivative: the last row moves along the
# integrator's polynomial.
problem linked(T = 1.0) {
  domain t in [0, T]
  field a, b
  a_t == -2 * b
  0 == b - a
  a == 1 at t = 0
}
linked_end(T) = solve(linked(T), bdf(), rtol = 1e-10, atol = 1e-12).values[-1, 0]
linked_end'(1.0)                             #~ -2 * exp(-2) tol 1e-7
grad(linked_end)(1.0)                        #~ -2 * exp(-2) tol 1e-7
linked_end''(1.0)                            #~ 4 * exp(-2) tol 1e-5
(T -> solve(linked(T), bdf()).times[-1])'(1.0)    #~ 1
(T -> solve(linked(2.0), bdf(), t = (0.0, T), saveat = [0.5, 1.0]).values[-1, 0])'(1.5)    #~ 0

# Without a method, the value and the derivative come from different steps; they
# agree to about the tolerance.
chosen(p) = ode(rate(p), [p[2]], (p[3], p[4]), rtol = 1e-11, atol = 1e-13).values[-1, 0]
grad(chosen)(p0)                             #~ grad(exact)(p0) tol 1e-8
hessian(chosen)(p0)                          #~ hessian(exact)(p0) tol 1e-7
grad(p -> ode(rate(p), [p[2]], (p[3], p[4]), rtol = 1e-11, atol = 1e-13, saveat = [mid(p), p[4]]).values[0, 0])(p0)    #~ grad(p -> of(p, [mid(p), p[4]]).values[0, 0])(p0) tol 1e-8
