# Narrow smooth pulses in time: every method integrates them in full, though its
# steps could be long before and after them.

methods = (auto(), tsit5(), dop853(), bdf(), adams(), radau5(), radau(order = 9), rodas5p(), imex(implicit = (t, y) -> -y))
pulse(t, w) = exp(-((t - 0.41)/w)^2)/(w*sqrt(π))
for w in [0.03, 0.01, 1e-3, 3e-4] {
  for m in methods {
    # imex also has the term -y.
    right = if m.name == "imex" { exp(-0.59 + w^2/4) } else { 1.0 }
    f = if m.name == "imex" { (t, y) -> [pulse(t, w)] - y } else { (t, y) -> [pulse(t, w)] }
    r = ode(f, [0.0], (0.0, 1.0); method = m)
    assert(abs(r.y(1.0)[0] - right) < 5e-5, "{m.name} {w}: {r.y(1.0)[0]}")
    r = ode(f, [0.0], (0.0, 1.0); method = m, saveat = [0.2, 1.0])
    assert(abs(r.y(1.0)[0] - right) < 5e-5 and abs(r.y(0.2)[0]) < 1e-9, "saveat {m.name} {w}: {r.y(1.0)[0]}")
  }
  # forward and backward
  r = ode((t, y) -> [pulse(t, w)], [1.0], (1.0, 0.0))
  assert(abs(r.y(0.0)[0]) < 5e-5, "back {w}: {r.y(0.0)[0]}")
  # as a factor of the state, in a branch, and in a sum of two pulses
  assert(abs(ode((t, y) -> -pulse(t, w)*y, [1.0], (0.0, 1.0)).y(1.0)[0] - exp(-1)) < 5e-5)
  assert(abs(ode((t, y) -> if t < 2 { pulse(t, w)*y } else { y }, [1.0], (0.0, 1.0)).y(1.0)[0] - e) < 2e-4)
  r = ode((t, y) -> [pulse(t, w) + pulse(t + 0.3, w)], [0.0], (0.0, 1.0))
  assert(abs(r.y(1.0)[0] - 2) < 1e-4 and abs(r.y(0.3)[0] - 1) < 1e-4, "two {w}")
  # an event and a delay
  r = ode((t, y) -> [pulse(t, w)], [0.0], (0.0, 1.0); events = event((t, y) -> y[0] - 0.5; terminal = true))
  assert(abs(r.events.times[0] - 0.41) < 1e-4*w + 1e-6, "event {w}: {r.events.times}")
  r = dde((t, y, z) -> [pulse(t, w)] - 0*z[0], [0.0], (0.0, 1.0); lags = 0.2)
  assert(abs(r.y(1.0)[0] - 1) < 5e-5, "dde {w}: {r.y(1.0)[0]}")
}
# a hundred doses
dose(t) = exp(-((t % 24 - 12)/0.2)^2)/(0.2*sqrt(π))
ode((t, y) -> [dose(t)], [0.0], (0.0, 2400.0)).y(2400.0)[0]      #~ 100 tol 1e-3

# Derivatives with respect to the pulse's time and width, and batched. With
# decay, the final state is exp(-(1 - s) + w^2/4).
after(s, w) = ode((t, y) -> [exp(-((t - s)/w)^2)/(w*sqrt(π))] - y, [0.0], (0.0, 1.0); rtol = 1e-9, atol = 1e-12).y(1.0)[0]
exact(s, w) = exp(s - 1 + w^2/4)
grad(s -> after(s, 0.002))(0.41)                       #~ exact(0.41, 0.002) tol 1e-6
grad(w -> after(0.41, w))(0.01)                        #~ exact(0.41, 0.01)*0.005 tol 1e-5
grad(grad(s -> after(s, 0.01)))(0.41)                  #~ exact(0.41, 0.01) tol 1e-4
map(s -> after(s, 0.002), linspace(0.1, 0.9, 20))      #~ map(s -> exact(s, 0.002), linspace(0.1, 0.9, 20)) tol 1e-7

# The right-hand side is not evaluated after the end of a solution, where it may
# be undefined.
table = [1.0, 2.0, 0.0]
r = ode((t, y) -> [table[i64(floor(t))]], [0.0], (0.0, 1000.0); events = event((t, y) -> y[0] - 2.5; terminal = true))
r.events.times          #~ [1.75] tol 1e-9

# A step, a kink and an oscillation are no pulses and cost no additional steps.
ode((t, y) -> [sin(200t)], [0.0], (0.0, 1.0); method = dop853()).stats.steps < 200     #> true
ode((t, y) -> [tanh((t - 0.5)/0.1)], [0.0], (0.0, 1.0)).stats.steps < 60               #> true
ode((t, y) -> [t^3], [0.0], (0.0, 1.0)).stats.steps < 30                               #> true
# A branch is not searched at times at which it is not taken.
ode((t, y) -> if t < 0.5 { -y } else { y/((t - 0.25)^2 + 1e-6) }, [1.0], (0.0, 1.0)).stats.steps < 100    #> true
# A force on many unknowns: the search samples some of them.
many(n) = ode((t, y) -> pulse(t, 0.001)*linspace(1.0, 2.0, n) - 0y, zeros(n), (0.0, 1.0); method = tsit5(), saveat = [1.0]).values[0]
many(1000)                  #~ linspace(1.0, 2.0, 1000) tol 1e-5
