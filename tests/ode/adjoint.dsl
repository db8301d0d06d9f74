# Reverse mode through ode(): gradients, Hessian-vector products, events, end
# times, and its memory. Oracles: finite differences, forward mode, the
# variational equations of CVODES, closed forms.
off(x, r) = max(abs(x - r)) / max(abs(r))
rates(p) = (t, y) -> [-p[0] * y[0] + p[1] * y[1] * y[2] + 0.1 * sin(p[3] * t), p[0] * y[0] - p[1] * y[1] * y[2] - p[2] * y[1]^2, p[2] * y[1]^2]
p0 = [0.4, 2.0, 3.0, 1.5, 1.0]
v = [0.1, -0.3, 0.2, 0.4, -0.2]
loss(p, m) = {
  y = ode(rates(p), [p[4], 0.1, 0.2], (0.0, 1.5); method = m, rtol = 1e-10, atol = 1e-12, saveat = [1.5]).values[0]
  y[0] * y[1] + y[2]^2
}
# Hessian-vector products, forward over reverse. They are compared with
# fourth-order differences of the gradient, with reverse over forward, and with
# the variational equations. CVODES integrates those together with the solution,
# so their second derivatives are equations of their own.
h = 1e-3
by_equations = hvp(p -> loss(p, bdf()), p0, v)
for m in list(rodas5p(), radau5(), dop853(), tsit5(), auto()) {
  g = grad(p -> loss(p, m))
  ahead = jvp(g, p0, v)[1]
  differences = (8 * (g(p0 + h * v) - g(p0 - h * v)) - (g(p0 + 2 * h * v) - g(p0 - 2 * h * v))) / (12 * h)
  assert(off(ahead, differences) < 1e-7, "{m.name}: against differences, {off(ahead, differences)}")
  assert(off(ahead, by_equations) < 1e-6, "{m.name}: against the variational equations, {off(ahead, by_equations)}")
}
back = grad(p -> jvp(p -> loss(p, rodas5p()), p, v)[1])(p0)
off(back, by_equations) < 1e-6     #> true
H = hessian(p -> loss(p, rodas5p()))(p0);
off(H, H') < 1e-10                 #> true
off(H @ v, by_equations) < 1e-6    #> true

# The gradient equals the forward derivative for every method and every output:
# the end, times inside, the whole solution, both end times moving.
inside(p, m) = {
  s = ode(rates(p), [p[4], 0.1, 0.2], (0.1 * p[0], p[1]); method = m, rtol = 1e-9, atol = 1e-11, saveat = [0.3, 0.5 * p[1], p[1]])
  sum(s.values * [1.0, 2, 3; 0.5, 1, 2; 1, 1, -1])
}
whole(p, m) = {
  s = ode(rates(p), [p[4], 0.1, 0.2], (0.1 * p[0], p[1]); method = m, rtol = 1e-9, atol = 1e-11)
  sum(s.y(0.77) * [1.0, 2, 3]) + s.values[-1, 0]
}
for m in list(rodas5p(), radau5(), dop853(), tsit5(), rk4(0.01), auto()) {
  near = if m.name == "auto" { 1e-9 } else { 1e-12 }
  a = jvp(p -> inside(p, m), p0, v)[1]
  assert(abs(grad(p -> inside(p, m))(p0) @ v - a) < near * abs(a), "{m.name}: times inside")
  a = jvp(p -> whole(p, m), p0, v)[1]
  assert(abs(grad(p -> whole(p, m))(p0) @ v - a) < near * abs(a), "{m.name}: the whole solution")
}

# Events and end times. A ball falls from height p[0] with acceleration p[1] and
# keeps the fraction p[2] of its speed at each impact. The height at t = 5 and
# the time of the second impact have closed forms.
bounces(p, m) =
  ode((t, y) -> [y[1], -p[1]], [p[0], 0.0], (0.0, 5.0); method = m, rtol = 1e-10, atol = 1e-12,
    events = event((t, y) -> y[0]; direction = "falling", then = (t, y) -> [0.0, -p[2] * y[1]]))
fall = sqrt(2 * 10 / 9.81)
bounces([10.0, 9.81, 0.8], rodas5p()).events.times     #~ [1.42784312292706, 3.71239211961037] tol 1e-10
bounces([10.0, 9.81, 0.8], dop853()).values[-1, 0]     #~ 3.41068478181494 tol 1e-8
height(p) = { s = sqrt(2 * p[0] / p[1]); t = 5 - s * (1 + 2 * p[2]); t * p[2]^2 * p[1] * s - 0.5 * p[1] * t^2 }
impact(p) = sqrt(2 * p[0] / p[1]) * (1 + 2 * p[2])
b0 = [10.0, 9.81, 0.8]
for m in list(bdf(), dop853(), rodas5p()) {
  g = grad(p -> bounces(p, m).values[-1, 0])(b0)
  assert(off(g, grad(height)(b0)) < 1e-6, "{m.name}: a height after two impacts, {off(g, grad(height)(b0))}")
  g = grad(p -> bounces(p, m).events.times[1])(b0)
  assert(off(g, grad(impact)(b0)) < 1e-6, "{m.name}: the time of an impact, {off(g, grad(impact)(b0))}")
}

# ---- memory
# Reverse mode stores only the state of each step. For 60000 steps of three
# unknowns these are 1.4 MB, and 6 MB of rows during the integration. A tape of
# all Runge-Kutta stages would hold a hundred scalars for each step.
long(p) = ode((t, u) -> [p[0] * (u[1] - u[0]), u[0] * (p[1] - u[2]) - u[1], u[0] * u[1] - p[2] * u[2]], [1.0, 0, 0], (0.0, 1.5); method = rk4(2.5e-5), saveat = [1.5]).values[0, 0]
g = grad(long)([10.0, 28, 8/3])
short = grad(p -> ode((t, u) -> [p[0] * (u[1] - u[0]), u[0] * (p[1] - u[2]) - u[1], u[0] * u[1] - p[2] * u[2]], [1.0, 0, 0], (0.0, 1.5); method = dop853(), rtol = 1e-12, atol = 1e-13, saveat = [1.5]).values[0, 0])([10.0, 28, 8/3])
off(g, short) < 1e-8               #> true

# ---- the mode of a gradient
# A gradient with respect to one or two scalars uses forward mode; larger ones
# traverse the steps again. plan() reports the choice.
decay(p) = ode((t, y) -> [-p[0] * y[0] + p[1]], [p[1]], (0.0, 2.0); method = rodas5p(), rtol = 1e-8, atol = 1e-10, saveat = [2.0]).values[0, 0]
find(plan(grad(a -> decay([a, 0.3])), 2.0), "gradient, forwards, which by so few numbers costs less") > 0      #> true
find(plan(grad(decay), [2.0, 0.3]), "gradient, forwards, which by so few numbers costs less") > 0              #> true
find(plan(grad(p -> p[2] * decay(p)), [2.0, 0.3, 1.0]), "by the steps of an integration once more") > 0        #> true
grad(a -> decay([a, 0.3]))(2.0)    #~ grad(p -> p[2] * decay(p))([2.0, 0.3, 1.0])[0] tol 1e-12
grad(decay)([2.0, 0.3])            #~ grad(p -> p[2] * decay(p))([2.0, 0.3, 1.0])[..2] tol 1e-12
# The choice is the same after an earlier call without a derivative, which
# stores nothing for reverse mode.
again(p, n) = if n == 0 { p[2] * decay(p) } else { again(1.0 * p, n - 1) }
again([2.0, 0.3, 1.0], 1);
find(plan(grad(p -> again(p, 1)), [2.0, 0.3, 1.0]), "by the steps of an integration once more") > 0            #> true
grad(p -> again(p, 1))([2.0, 0.3, 1.0])    #~ grad(p -> p[2] * decay(p))([2.0, 0.3, 1.0]) tol 1e-12
