# Values inside the steps of stiff methods: a stiff component follows its
# equation there too, and a pulse inside a step is not missed.

T = linspace(0.01, 29.99, 1000);
# y follows g to within 1/2000. The pulse is wide enough that no comparison or
# pulse detection finds it.
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
# The bounds are ten times the error that Radau's dense output is allowed, whose
# order is half that of the steps. For the other methods they are a hundred
# tolerances, because errors accumulate.
for rtol in [1e-6, 1e-9] {
  for (m, least) in ((radau5(), rtol^(2/3)), (radau9(), rtol^0.6), (radau13(), rtol^(4/7)), (rodas5p(), 100*rtol),
    (bdf(), 100*rtol), (auto(), rtol^0.6)) {
    off = worst(m, rtol)
    assert(off < least, "{m.name} {rtol}: {off} {least}")
  }
}

# Second derivatives with respect to t at the start of multistep methods, which
# begin with short steps of order 1, and begin again after an event. Values with
# an error of rtol/2 over a first step h give second derivatives with an error
# of about rtol/h^2, which is some hundredths here.
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
