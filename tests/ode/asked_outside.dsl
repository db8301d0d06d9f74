# Evaluating a solution outside its interval is an error that states the
# interval: for every method and every form of evaluation. Times that exceed an
# end by rounding only are accepted.

says = "the solution is known for t from 0 to 1, and does not say how things are at 2"
asked(f) = try { str(f()) } catch m { m }
grows = (t, y) -> [y[0], -y[0]]
for m in list(auto(), bdf(), adams(), tsit5(), dop853(), rodas5p(), radau(), rk4(0.1), euler(0.1), imex(implicit = grows)) {
  s = ode(grows, [1.0, 0], (0.0, 1.0); method = m)
  assert(asked(() -> s.y(2.0)) == says, "{m.name}: {asked(() -> s.y(2.0))}")
  assert(asked(() -> s.y([0.1, 2.0, 0.3])) == says, m.name)
  # A time that differs from an end by rounding is that end.
  assert(all(s.y(1.0 + 4e-16) == s.y(1.0)) and all(s.y(-1e-16) == [1.0, 0]), m.name)
}
s = ode(grows, [1.0, 0], (0.0, 1.0); rtol = 1e-9);
asked(() -> map(t -> s.y(t), [0.5, 2.0]))[..34]      #> the solution is known for t from 0
map(t -> s.y(t)[0], [0.5, 1.0])      #~ exp([0.5, 1.0]) tol 1e-8
# times in arrays of any shape
shape(s.y([0.0, 0.5; 0.7, 1.0]))     #> (2, 2, 2)
s.y([0.0, 0.5; 0.7, 1.0])[.., .., 0] #~ exp([0.0, 0.5; 0.7, 1.0]) tol 1e-8
# derivatives at both ends, and with respect to the end time
(s.y'(0.0)[0], s.y'(1.0)[0])         #~ (1, e) tol 1e-6
end(T) = ode((t, y) -> -y, [1.0], (0.0, T); rtol = 1e-9).y(T)[0]
(end'(1.3), grad(end)(1.3), end''(1.3))      #~ (-exp(-1.3), -exp(-1.3), exp(-1.3)) tol 1e-7
# backward in time
back = ode((t, y) -> -y, [1.0], (1.0, -1.0); rtol = 1e-9);
back.y(-1.0)                         #~ [exp(2)] tol 1e-7
asked(() -> back.y(1.1))             #> the solution is known for t from 1 to -1, and does not say how things are at 1.1
# an empty interval
for m in list(auto(), bdf(), dop853(), rk4(0.1)) { assert(all(ode(grows, [1.0, 2], (3.0, 3.0); method = m).y(3.0) == [1.0, 2]), m.name) }

# Solutions that end early: at a terminal event, and where the integrator gave
# up.
fall = ode((t, y) -> [y[1], -9.81], [10.0, 0], (0.0, 100.0); events = event((t, y) -> y[0]; terminal = true), rtol = 1e-10);
fall.y(fall.events.times[0])[0]      #~ 0 tol 1e-9
asked(() -> fall.y(2.0))             #> the solution is known for t from 0 to 1.42784312, and does not say how things are at 2
left = ode((t, y) -> y^2, [1.0], (0.0, 2.0); partial = true);
contains(asked(() -> left.y(1.5)), "does not say how things are at 1.5")      #> true
problem drops() {
  domain t in [0, 100]
  field y
  y_tt == -9.81
  y == 10 at t = 0
  y_t == 0 at t = 0
  event ground: y falling terminal
}
down = solve(drops(); rtol = 1e-9);
(contains(asked(() -> down.y(2.0)), "from 0 to 1.42784"), contains(asked(() -> down.y_t(2.0)), "from 0 to 1.42784"))      #> (true, true)
# Two solutions with slightly different end times are compared on their common
# interval.
compare(down, solve(drops(); rtol = 1e-5); tol = 1e-4).agree      #> true

# boundary values, delays, noise
c = bvp((t, y) -> [y[1], -exp(y[0])], (ya, yb) -> [ya[0], yb[0]], (0.0, 1.0), [0.0, 0.0]);
asked(() -> c.y(2.0)) == says        #> true
c.y([0.0, 0.5; 0.5, 1.0])[.., .., 0] #~ [0, 0.140539214; 0.140539214, 0] tol 1e-7
delayed = dde((t, y, Z) -> -Z[0], [1.0], (0.0, 5.0); lags = 1.0, past = t -> [exp(t)], rtol = 1e-9);
delayed.y([-2.0, 0.0])[.., 0]        #~ [exp(-2), 1] tol 1e-12
asked(() -> delayed.y(5.1))          #> the solution is known for t from -inf to 5, and does not say how things are at 5.1
w = sde((t, x) -> 0.5x, (t, x) -> x, [1.0], (0.0, 1.0); method = euler_maruyama(0.1), seed = 5);
asked(() -> w.y(2.0)) == says        #> true

# A fit with data after the end of the solution raises this error.
problem decay(k) {
  domain t in [0, 1]
  field y
  y_t == -k*y
  y == 1 at t = 0
}
later = linspace(0.1, 2.0, 20)
asked(() -> fit((k, t) -> solve(decay(k)).y(t), later, exp(-0.7*later), 1.0).p) == says      #> true
asked(() -> fit(decay(1.0), (t = later, y = exp(-0.7*later))).k) == says      #> true
fit(decay(1.0), (t = 0.5later, y = exp(-0.35*later))).k      #~ 0.7 tol 1e-6

# A sum of many small steps may exceed the end slightly. The tolerance is
# relative to the span: at late times, a real excess is still an error.
t = 0.0;
for k in 0..100000 { t = t + 0.001 }
(t > 100, ode((t, y) -> -y, [1.0], (0.0, 100.0)).y(t)[0] < 1e-15)   #> (true, true)
late = ode((t, y) -> -y, [1.0], (1e11, 1e11 + 1.0));
contains(try { str(late.y(1e11 + 1.5)) } catch e { e }, "is known for t")  #> true
