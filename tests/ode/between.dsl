# Values between the ends of a step of a stiff method: what is stiff follows its equation there too, and a pulse on the way is not stepped over.

T = linspace(0.01, 29.99, 1000);
# y follows g within 1/2000; the pulse is too wide to be told from what else there is
worst(m, rtol) = {
  all = zeros(0)
  for k in 0..8 {
    (c, w) = (3 + 25*((0.37 + 0.618034*k) % 1.0), 0.6 + 1.5*((0.11 + 0.7548777*k) % 1.0))
    g(t) = sin(0.3t) + exp(-((t - c)/w)^2)
    f(t, y) = [-2000*(y[0] - g(t)) + 0.3*cos(0.3t) - 2*(t - c)/w^2*exp(-((t - c)/w)^2)]
    s = ode(f, [g(0.0)], (0.0, 30.0); method = m, rtol = rtol, atol = rtol)
    all = concat(all, [max(abs([s.y(t)[0] - g(t) for t in T]))])
  }
  max(all)
}
# ten times what the polynomials of Radau's methods are allowed, whose order is half of that of the steps; a hundred tolerances of others, which add errors up
for rtol in [1e-6, 1e-9] {
  for (m, least) in ((radau5(), rtol^(2/3)), (radau9(), rtol^0.6), (radau13(), rtol^(4/7)), (rodas5p(), 100*rtol),
    (bdf(), 100*rtol), (auto(), rtol^0.6)) {
    off = worst(m, rtol)
    assert(off < least, "{m.name} {rtol}: {off} {least}")
  }
}

# Second derivatives by t where methods of many orders begin, with short steps of order 1; behind an event they begin again.
# Values that are known to half the tolerance over a first step of length h give them to rtol/h^2: some hundredths here.
oscillate(p, m, rtol) = ode((t, y) -> [y[1], -p*y[0]], [1.0, 0.0], (0.0, 1.0); method = m, rtol = rtol)
bend(y, t) = grad(grad(t -> y(t)[0]))(t)
for rtol in [1e-6, 1e-8] { for m in list(bdf(), adams()) {
  for p in [0.5, 2.0, 300.0] {
    b = bend(oscillate(p, m, rtol).y, 0.0) / p
    assert(abs(b + 1) < 0.05, "{m.name} {rtol} {p}: {b}")
  }
  slope = grad(p -> bend(oscillate(p, m, rtol).y, 0.0))(2.0)
  assert(abs(slope + 1) < 0.05, "{m.name} {rtol}: {slope}")
} }
{ s = ode((t, y) -> [y[1], -9.81 - 0.5*y[1]], [1.0, 0.0], (0.0, 1.0); method = bdf(), rtol = 1e-8,
    events = event((t, y) -> y[0]; then = (t, y) -> [0.0, -0.8*y[1]]))
  t = s.events.times[0] + 1e-7
  (bend(s.y, t) / (-9.81 - 0.5*s.y(t)[1]), bend(s.y, 0.0) / -9.81) }   #~ (1, 1) tol 0.02
problem algebraic {
  domain t in [0, 1]
  field x, z
  x_t == z
  z == cos(t) + x^2
  x == 0 at t = 0
}
{ s = solve(algebraic); (grad(grad(s.x))(0.0), grad(grad(s.z))(0.0)) }   #~ (0, 1) tol 0.01
