# Short switches that depend on t alone: no method steps over them, in either
# direction.

methods = list(auto(), tsit5(), dop853(), rodas5p(), bdf(), adams(), radau5(), radau9(), rk4(0.1),
  multirate(fast = (t, y) -> 0.0*y), imex(implicit = (t, y) -> 0.0*y))
for w in [0.1, 1e-3, 1e-5] {
  f = (t, y) -> if t > 0.41 and t < 0.41 + w { 0.0*y + 1/w } else { 0.0*y }
  for m in methods {
    forth = ode(f, [0.0], (0.0, 1.0); method = m)
    back = ode(f, [0.0], (1.0, 0.0); method = m)
    # Pieces end and begin a few roundings away from the switches; the omitted
    # part is small relative to w.
    tol = 1e-13 + 1e-14/w
    assert(abs(forth.y(1.0)[0] - 1) < tol and abs(back.y(0.0)[0] + 1) < tol, "{m.name} {w}")
    rows = ode(f, [0.0], (0.0, 1.0); method = m, saveat = [0, 0.2, 0.41 + 0.5w, 0.7, 1.0 - 2e-16, 1.0])
    assert(max(abs(rows.values[.., 0] - [0, 0, 0.5, 1, 1, 1])) < 10tol, "{m.name} {w}: {rows.values}")
  }
}
# doses of half an hour, every day for a hundred days
dose(t) = if t % 24.0 < 0.5 { 2.0 } else { 0.0 }
ode((t, y) -> [dose(t)], [0.0], (0.0, 2400.0)).y(2400.0)          #~ [100] tol 1e-9
k = 0.1
right = 2/k*(1 - exp(-0.5k))*sum(exp(-k*(23.5 + 24.0*iota(100))))
ode((t, y) -> dose(t) - k*y, [0.0], (0.0, 2400.0); rtol = 1e-9).y(2400.0)   #~ [right] tol 1e-8

# Derivatives of orders 1 to 3 with respect to the time of a switch.
x(s) = ode((t, y) -> if t > s^2 { -y*s } else { cos(y) }, [1.0], (0.0, 2.0); rtol = 1e-11, atol = 1e-13).y(2.0)[0]
# Until s², y' = cos(y), where tan(y/2 + π/4) grows as e^t; then decay.
exact(s) = (2atan(exp(s^2)*tan(0.5 + π/4)) - π/2)*exp(-s*(2 - s^2))
x(0.8)                       #~ exact(0.8) tol 1e-9
grad(x)(0.8)                 #~ grad(exact)(0.8) tol 1e-8
grad(grad(x))(0.8)           #~ grad(grad(exact))(0.8) tol 1e-7
(x(0.8))/1e3             #~ exact(0.8)/1e3 tol 1e-4
grad(grad(grad(x)))(0.8)     #~ grad(grad(grad(exact)))(0.8) tol 1e-8
# A fitted parameter may be such a time.
best = minimize(s -> (x(s) - exact(0.9))^2, 0.8; lower = 0.75, upper = 1.2);
best.x                       #~ 0.9 tol 1e-4

# events beside switches
r = ode((t, y) -> -3y + (if t > 0.4 and t < 0.41 { 100.0 } else { 0.0 }), [0.5], (0.0, 1.0);
  events = event((t, y) -> y[0] - 0.6), rtol = 1e-10, atol = 1e-12);
u(t) = 100/3 + (0.5exp(-1.2) - 100/3)*exp(-3*(t - 0.4))
r.events.times               #~ [root(t -> u(t) - 0.6, (0.4, 0.41)), 0.41 + log(u(0.41)/0.6)/3] tol 1e-9
# an event just after a switch, which ends the solution
r = ode((t, y) -> if t > 0.5 { [-1.0] } else { [1.0] }, [0.0], (0.0, 2.0);
  events = event((t, y) -> y[0] - 0.2; terminal = true, direction = "falling"));
r.events.times               #~ [0.8] tol 1e-12

# Delays: the pulse returns after the lag, and so does one in the history.
d = dde((t, y, Z) -> -Z[0] + (if t > 0.4 and t < 0.401 { 1000.0 } else { 0.0 }), [0.0], (0.0, 2.0); lags = 1.0);
map(t -> d.y(t)[0], [0.4, 0.401, 1.0, 1.401, 2.0])       #~ [0, 1, 1, 0.9995, 0.4005] tol 1e-9
d = dde((t, y, Z) -> -Z[0], [0.0], (0.0, 2.0); lags = 1.0, past = t -> if t > -0.401 and t < -0.4 { [1000.0] } else { [0.0] },
  rtol = 1e-10, atol = 1e-13);
map(t -> d.y(t)[0], [0.599, 0.6, 1.0, 2.0])              #~ [0, -1, -1, -0.5995] tol 1e-9
onset(s) = dde((t, y, Z) -> -Z[0] + (if t > s { 1.0 } else { 0.0 }), [1.0], (0.0, 3.0); lags = 1.0, rtol = 1e-9).y(3.0)[0]
# The response to a step at s, with z = 3 - s: 1 - (z - 1) + (z - 2)^2/2.
grad(onset)(0.7)             #~ -(1 - 1.3 + 0.3^2/2) tol 1e-8
# events exactly at switches
for m in (bdf(), dop853(), radau5(), auto()) {
  f = (t, y) -> if t < 0.5 { [1.0] } else if t < 0.7 { [0.0] } else { [-1.0] }
  e = list(event((t, y) -> t - 0.5; then = (t, y) -> y + 1), event((t, y) -> 0.7 - t))
  r = ode(f, [0.0], (0.0, 1.0); events = e, method = m)
  assert(len(r.events.times) == 2, "{m.name}: {r.events}")
  assert(max(abs(r.events.times - [0.5, 0.7])) < 1e-12 and abs(r.y(1.0)[0] - 1.2) < 1e-5, "{m.name}: {r.events} {r.y(1.0)}")
}
# with algebraic equations
problem tank {
  domain t in [0, 1]
  field h, q
  h_t == q
  0 == q - (if t > 0.3 and t < 0.31 { 100.0 } else { 0.0 }) + 0.5h
  h == 0.4 at t = 0
  q == -0.2 at t = 0
  event full: h == 0.8
}
s = solve(tank, rtol = 1e-9, atol = 1e-12);
h(t) = 200 + (0.4exp(-0.15) - 200)*exp(-0.5*(t - 0.3))
s.events.full.times          #~ [root(t -> h(t) - 0.8, (0.3, 0.31))] tol 1e-7
s.h(1.0)                     #~ h(0.31)*exp(-0.5*0.69) tol 1e-8

# The search for switches does not evaluate the right-hand side after the end of
# a solution, where it may fail.
w = [1.0, 2, 3]
r = ode((t, y) -> [w[i64(floor(t))]], [0.0], (0.0, 1000.0); events = event((t, y) -> y[0] - 4; terminal = true), rtol = 1e-9);
r.events.times               #~ [2 + 1/3] tol 1e-8

# a smooth pulse exactly at a switch
for w in [0.05, 1e-3, 1e-4, 1e-6] {
  f = (t, y) -> [(if t < 5 { 1.0 } else { -1.0 }) + exp(-((t - 5)/w)^2)/(w*sqrt(π))]
  for m in (auto(), dop853(), rodas5p(), bdf(), radau5()) {
    forth = ode(f, [0.0], (0.0, 10.0); method = m, rtol = 1e-7, atol = 1e-9).y(10.0)[0]
    back = ode(f, [0.0], (10.0, 0.0); method = m, rtol = 1e-7, atol = 1e-9).y(0.0)[0]
    assert(abs(forth - 1) < 1e-4 and abs(back + 1) < 1e-4, "{m.name} {w}: {forth} {back}")
  }
}

# A smooth pulse at a round time, however narrow. dop853 passes it in few steps,
# and its error estimate of order 5 understates their errors.
for w in [1e-3, 1e-4, 1e-6] {
  for c in [5.0, 3.0, 8.7] {
    f = (t, y) -> [1.0 + exp(-((t - c)/w)^2)/(w*sqrt(π))]
    for m in (auto(), dop853(), rodas5p(), bdf(), adams(), radau5()) {
      forth = ode(f, [0.0], (0.0, 10.0); method = m, rtol = 1e-7, atol = 1e-9).y(10.0)[0]
      back = ode(f, [0.0], (10.0, 0.0); method = m, rtol = 1e-7, atol = 1e-9).y(0.0)[0]
      assert(abs(forth - 11) < 3e-4 and abs(back + 11) < 3e-4, "{m.name} {w} {c}: {forth} {back}")
    }
    lagging = dde((t, y, Z) -> f(t, y) + 0*Z[0], [0.0], (0.0, 10.0); lags = [0.5], past = t -> [0.0]).y(10.0)[0]
    problem flash {
      domain t in [0, 10]
      field u, v
      u_t == v
      v == f(t, u)[0]
      u == 0 at t = 0
    }
    assert(abs(lagging - 11) < 1e-4 and abs(solve(flash).u(10.0) - 11) < 1e-4, "{w} {c}: {lagging}")
  }
}
