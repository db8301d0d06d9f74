# Initial value problems against closed forms and published references.

s = ode((t, y) -> [y[1], -y[0]], [1.0, 0.0], (0, 10); rtol = 1e-10, atol = 1e-12);
s.y(3.0)[0]  #~ -0.9899924966004454 tol 1e-8
s.y(0.0)[0]  #~ 1.0 tol 1e-15
s.y(10.0)[0]  #~ -0.8390715290764524 tol 1e-8
b = ode((t, y) -> -y, [1.0], (0, -2); rtol = 1e-10, atol = 1e-12);
b.y(-2.0)[0]  #~ 7.38905609893065 tol 1e-8
a = ode((t, y) -> [y[1], -y[0]], [1.0, 0.0], (0, 10); method = adams(), rtol = 1e-10, atol = 1e-12);
a.y(7.0)[1]  #~ -0.6569865987187891 tol 1e-8
v = ode((t, y) -> [-2t*y[0]], [1.0], (0, 2); saveat = [0.0, 0.5, 1.0, 2.0], rtol = 1e-10, atol = 1e-12);
v.values[.., 0]  #~ [1.0, 0.7788007830714049, 0.36787944117144233, 0.01831563888873418] tol 1e-8

# Robertson's reaction. The value at t = 1e11 is from the test set for IVP
# solvers; that at 4e10 is a RADAU5 value in quadruple precision.
problem robertson(k = [0.04, 1e4, 3e7]) {
  domain t in [0, 1e11]
  field y[3]
  r1 = k[0]*y[0]
  r2 = k[1]*y[1]*y[2]
  r3 = k[2]*y[1]^2
  y_t == [r2 - r1, r1 - r2 - r3, r3]
  y == [1, 0, 0] at t = 0
}
r = solve(robertson(), bdf(), rtol = 1e-10, atol = [1e-18, 1e-22, 1e-18]);
r.y(1e11)[0] / 0.2083340149701255e-7  #~ 1.0 tol 1e-6
r.y(1e11)[1] / 0.8333360770334713e-13  #~ 1.0 tol 1e-6
r.y(1e11)[2]  #~ 0.9999999791665050 tol 1e-9
r.stats.newton_failures < 20  #> true

# two scalar fields, and a parameter
problem lotka(a = 1.5, b = 1.0, c = 3.0, d = 1.0) {
  domain t in [0, 10]
  field x, y
  x_t == a*x - b*x*y
  y_t == -c*y + d*x*y
  x == 1 at t = 0
  y == 1 at t = 0
}
l = solve(lotka(), bdf(), rtol = 1e-10, atol = 1e-12);
H(x, y) = x - 3*log(x) + y - 1.5*log(y)
H(l.x(10.0), l.y(10.0)) - H(1.0, 1.0)  #~ 0.0 tol 1e-7
l.x([2.0, 4.0])[1] - l.x(4.0)  #~ 0.0 tol 1e-15

# A boolean right-hand side counts as 1 or 0, also in derivatives.
grad(a -> ode((t, y) -> a == y^4, [1.0], (0.0, 2.0 + a); method = bdf()).values[-1, 0])(1.0)   #> 0.0

# explain() reports how a solution was computed.
explained = explain(ode((t, y) -> -y, [1.0], (0.0, 2.0); method = dop853()))
explained[..23]                                     #> solved by dop853: steps
contains(explained, ", rhs ")                       #> true
try { explain((a = 1,)) } catch m { m }             #> explain takes a problem, a solution, a function with its arguments, or a pattern that sparsity gave
