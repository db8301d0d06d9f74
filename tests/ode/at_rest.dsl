# Derivatives of solutions at rest, whose step errors do not control the step
# size: with respect to initial values, parameters and forcing, in both modes
# and of second order, at rows and between them. Oracle: closed forms of the
# linearised equations.

pendulum = (t, y) -> [y[1], -sin(y[0])]
still = (t, y) -> [0.0, -y[0]]
methods = list(auto(), tsit5(), dop853(), rodas5p(), radau5(), imex(implicit = still), bdf())

# ---- a hanging pendulum
# Between the rows of a whole solution, and at one time: at the end, and in
# reverse mode.
for m in methods {
  swing = a -> ode(pendulum, [a, 0.0], (0.0, 20.0); method = m).y(13.3)[0]
  assert(abs(swing'(0.0) - cos(13.3)) < 1e-4, "{m.name}: {swing'(0.0)}")
  ends = y -> ode(pendulum, y, (0.0, 20.0); method = m, saveat = [20.0]).values[0, 0]
  assert(max(abs(grad(ends)([0.0, 0.0]) - [cos(20.0), sin(20.0)])) < 1e-4, "{m.name}: {grad(ends)([0.0, 0.0])}")
}
# at several times, and close to rest
fell(m, a) = ode(pendulum, [a, 0.0], (0.0, 20.0); method = m, saveat = [5.0, 20.0], atol = 1e-6).values[.., 0]
(a -> fell(tsit5(), a))'(0.0)           #~ [cos(5.0), cos(20.0)] tol 1e-4
(a -> fell(rodas5p(), a))'(1e-9)        #~ [cos(5.0), cos(20.0)] tol 1e-4
(a -> fell(auto(), a))'(1e-9)           #~ [cos(5.0), cos(20.0)] tol 1e-4

# ---- forcing from rest, with respect to the force; and a control that is zero
pushed(m, k) = ode((t, y) -> [y[1], -y[0] + k*cos(3t)], [0.0, 0.0], (0.0, 20.0); method = m).y(17.1)[0]
(k -> pushed(auto(), k))'(0.0)          #~ (cos(17.1) - cos(51.3))/8 tol 1e-5
(k -> pushed(tsit5(), k))'(0.0)         #~ (cos(17.1) - cos(51.3))/8 tol 1e-5
(k -> pushed(rodas5p(), k))'(0.0)       #~ (cos(17.1) - cos(51.3))/8 tol 1e-5
# The time is an unknown here: the rate does not mention t, and y[1] does not
# move.
clocked(m) = grad(k -> ode((t, y) -> [1.0, k[0]*cos(30*y[0]) + k[1]], [0.0, 0.0], (0.0, 20.0); method = m, saveat = [20.0]).values[0, 1])([0.0, 0.0])
clocked(auto())                         #~ [sin(600.0)/30, 20] tol 1e-4
clocked(tsit5())                        #~ [sin(600.0)/30, 20] tol 1e-4
times = linspace(0.0, 10.0, 6)
steered(m) = grad(u -> ode((t, y) -> [-y[0] + interp(t, times, u)], [0.0], (0.0, 10.0); method = m, saveat = [10.0]).values[0, 0])(zeros(6))
# The derivative with respect to one value of the table is the integral of a hat
# function of half-width 2, weighted by exp(t - 10): (e^(-4) - 2 e^(-6) +
# e^(-8)) / 2 for c = 4.
hat(c) = integrate(t -> exp(t - 10) * max(0.0, 1 - abs(t - c)/2), 0.0, 10.0)
steered(dop853())[1..5]                 #~ [hat(2.0), hat(4.0), hat(6.0), hat(8.0)] tol 1e-6

# ---- the equilibrium of the Lotka-Volterra equations, which has frequency 1
prey(m) = jacobian(y -> ode((t, y) -> [y[0] - y[0]*y[1], y[0]*y[1] - y[1]], y, (0.0, 20.0); method = m, saveat = [20.0]).values[0])([1.0, 1.0])
prey(auto())                            #~ [cos(20.0), -sin(20.0); sin(20.0), cos(20.0)] tol 1e-4
prey(radau5())                          #~ [cos(20.0), -sin(20.0); sin(20.0), cos(20.0)] tol 1e-4

# ---- stiff, and of second order: y = a e^-t / (1 - a (1 - e^-t))
(a -> ode((t, y) -> -1000*y, [a], (0.0, 1.0); method = tsit5(), saveat = [0.001, 1.0]).values[.., 0])'(0.0)      #~ [exp(-1.0), 0] tol 1e-5
(a -> ode((t, y) -> -1000*y, [a], (0.0, 1.0); method = rodas5p()).y(0.002)[0])'(0.0)                             #~ exp(-2.0) tol 1e-5
(a -> ode((t, y) -> -y + y^2, [a], (0.0, 5.0)).y(5.0)[0])''(0.0)                                                 #~ 2exp(-5.0)*(1 - exp(-5.0)) tol 1e-6
hessian(a -> ode((t, y) -> -y + y^2, a, (0.0, 5.0); method = tsit5(), saveat = [5.0]).values[0, 0])([0.0])[0, 0] #~ 2exp(-5.0)*(1 - exp(-5.0)) tol 1e-6

# ---- an unknown at rest beside others that move
beside(m) = grad(y -> ode((t, y) -> [-0.1*y[0], y[2], -1e4*y[1]], y, (0.0, 1.0); method = m, saveat = [1.0]).values[0, 1])([1.0, 0.0, 0.0])
beside(auto())                          #~ [0, cos(100.0), sin(100.0)/100] tol 2e-4
beside(tsit5())                         #~ [0, cos(100.0), sin(100.0)/100] tol 2e-4
beside(rodas5p())                       #~ [0, cos(100.0), sin(100.0)/100] tol 2e-4

# ---- with an event
turned = event((t, y) -> t - 7.0; then = (t, y) -> y)
for m in list(auto(), tsit5(), rodas5p()) {
  d = (a -> ode(pendulum, [a, 0.0], (0.0, 20.0); method = m, events = turned).y(13.3)[0])'(0.0)
  assert(abs(d - cos(13.3)) < 1e-4, "{m.name}: {d}")
}

# ---- method of lines with zero data
problem bar(a = 0.0) {
  domain x in [0, 1], t in [0, 0.1]
  field u
  u_t == u_xx
  u == 0 at x = 0
  u == 0 at x = 1
  u == a*sin(π*x) at t = 0
}
(a -> solve(bar(a), fd(n = 21, time = tsit5())).u(0.5, 0.043))'(0.0)         #~ exp(-0.043*π^2) tol 1e-4
(a -> solve(bar(a), fd(n = 21)).u(0.5, 0.043))'(0.0)                         #~ exp(-0.043*π^2) tol 1e-4

# ---- unaffected: the number of rows for each step, and an exact constant
r = ode((t, y) -> [y[1], -9.81], [0.0, 2.0], (0.0, 3.0); method = tsit5());
len(r.times) == 4*r.stats.steps + 1                                          #> true
(a -> ode((t, y) -> [y[1], -9.81], [0.0, a], (0.0, 3.0); method = tsit5()).y(2.0)[0])'(2.0)      #~ 2 tol 1e-12

# ---- shooting from a guess of zero, where one segment is at rest
problem layer {
  domain x in [0, 1]
  field u
  0.02*u_xx + u_x == 0
  u == 0 at x = 0
  u == 1 at x = 1
}
solve(layer, shooting(1)).u([0.02, 1.0])     #~ [(1 - exp(-1.0))/(1 - exp(-50.0)), 1] tol 1e-6
# second derivatives, by variational equations of a function that captures an
# empty array
(a -> bvp((t, y) -> [y[1], -a*exp(y[0])], (ya, yb) -> [ya[0], yb[0]], (0.0, 1.0), [0.0, 0.0]; method = shooting(2; method = bdf()), rtol = 1e-8).y(0.5)[0])''(1.0)      #~ 0.0451166766 tol 1e-5
