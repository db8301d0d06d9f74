# Several switches, kinks or events at one time that move independently:
# derivatives against closed forms.
step(t, s) = if t < s { 0.0 } else { 1.0 }
tight(f, y0, m) = ode(f, y0, (0.0, 2.0); method = m, rtol = 1e-9, atol = 1e-11).values[-1, 0]
is_near(name, got, wanted, tol) = {
  e = max(abs(ravel(got - wanted)))
  assert(e < tol, "{name}: {got}, off by {e}")
}

# two switches, first and second derivatives; and two kinks
sums(p, m) = tight((t, y) -> [(step(t, p[0]) + 2 * step(t, p[1])) * y[0]], [1.0], m)
sums_exact(p) = exp(2 - p[0] + 2 * (2 - p[1]))
bends(p, m) = tight((t, y) -> [max(t - p[0], 0.0) + 2 * abs(t - p[1])], [0.0], m)
bends_exact(p) = 0.5 * (2 - p[0])^2 + p[1]^2 + (2 - p[1])^2
at = [1.0, 1.0]
grad(p -> sums(p, bdf()))(at)      #~ grad(sums_exact)(at) tol 1e-5
hessian(p -> sums(p, tsit5()))(at)   #~ hessian(sums_exact)(at) tol 1e-5
hessian(p -> bends(p, tsit5()))(at)  #~ hessian(bends_exact)(at) tol 1e-6

# knots of two tables; and a knot and a kink
by_table(s, top) = t -> interp(t, stack(0.0, s, 2.0), [0.0, top, 0.0] + 1)
tables(p, m) = tight((t, y) -> [(by_table(p[0], 1.0)(t) + by_table(p[1], 2.0)(t)^2) * y[0]], [1.0], m)
# The rate is the square of a line from 1 to 3 and back.
tables_exact(p) = exp(3 + 26 / 3 + 0 * p[0] + 0 * p[1])
knot_and_bend(p, m) = tight((t, y) -> [by_table(p[0], 1.0)(t)*max(t - p[1], 0.0)], [0.0], m)
knot_and_bend_exact(p) = {
  # after both
  (a, b) = (max(p[0], p[1]), p[0])
  slope = -1/(2 - b)
  before = if p[1] < b { integrate(t -> (1 + t/b)*(t - p[1]), p[1], b) } else { 0.0 }
  before + integrate(t -> (2 + slope*(t - b))*(t - p[1]), a, 2.0)
}
hessian(p -> tables(p, tsit5()))(at)/tables_exact(at)        #~ zeros(2, 2) tol 1e-5
hessian(p -> tables(p, bdf()))([1.0, 1.2])/tables_exact(at)  #~ zeros(2, 2) tol 1e-5
grad(p -> knot_and_bend(p, tsit5()))(at)     #~ 0.5*(grad(knot_and_bend_exact)([1.0, 1 - 1e-7]) + grad(knot_and_bend_exact)([1.0, 1 + 1e-7])) tol 1e-6
hessian(p -> knot_and_bend(p, tsit5()))(at)  #~ 0.5*(hessian(knot_and_bend_exact)([1.0, 1 - 1e-7]) + hessian(knot_and_bend_exact)([1.0, 1 + 1e-7])) tol 1e-5

# Three switches, separately and in a vector; one that depends on another; and,
# where their order matters, half of both one-sided derivatives.
many(p) = ode((t, y) -> [step(t, p[0]) + 2 * step(t, p[1]) - 5 * step(t, p[2]), sum([1.0, 2, -5] * where(t < p, 0.0, 1.0)),
  (if mod(t / p[0], 1.0) < 0.5 { 1.0 } else { 0.0 }) + 3 * step(t, p[1]), if t >= p[0] and t < p[1] { 4.0 } else { 0.0 }],
  zeros(4), (0.0, 2.2); method = tsit5(), saveat = [0.5, 2.2]).values[1]
jacobian(many)(ones(3))          #~ [[-1, -2, 5], [-1, -2, 5], [-1, -3, 0], [-2, 2, 0]] tol 1e-9

# An event at the switch is processed after it, whatever its function.
met(then, g, p) = ode((t, y) -> [1.0, 2 * step(t, p[1])], [0.0, 1.0], (0.0, 2.0); method = tsit5(), rtol = 1e-9, atol = 1e-11,
  events = event((t, y) -> g(t, y, p), then = then)).values[-1, 1]
for g in list((t, y, p) -> y[0] - p[0], (t, y, p) -> t - p[0]) {
  is_near("an event at a switch", grad(p -> met((t, y) -> [y[0], 3 * y[1]], g, p))([0.7, 0.7]), [4.0, -6.0], 1e-9)
}

# With lags: two equal ones, and one that reaches its breaking point at two
# switches.
delayed(p) = dde((t, y, Z) -> [Z[0, 0] + 2 * Z[1, 0]], [1.0], (0.0, 2.0); lags = list(p[0], p[1]), past = t -> [1.0], rtol = 1e-9).values[-1, 0]
grad(delayed)(at)                #~ [-3, -6] tol 1e-7
lag_at(p) = dde((t, y, Z) -> [Z[0, 0] + 2 * step(t, p[1]) + 3 * step(t, p[2])], [1.0], (0.0, 1.9); lags = p[0], past = t -> [0.0]).values[-1, 0]
grad(lag_at)(ones(3))            #~ [-1, -2, -3] tol 1e-7
