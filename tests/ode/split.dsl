# Right-hand sides in two parts: IMEX and multirate methods, against known
# solutions, other methods, and their orders.

# Kaps' problem: y = (exp(-2t), exp(-t)) for every stiffness.
kaps(ε) = (t, y) -> [-(1/ε + 2) * y[0] + y[1]^2/ε, y[0] - y[1] - y[1]^2]
hard(ε) = (t, y) -> [(y[1]^2 - y[0]) / ε, 0.0]
exact = [exp(-2.0), exp(-1.0)]
kaps_by(ε, rtol) = ode(kaps(ε), [1.0, 1], (0.0, 1.0); method = imex(implicit = hard(ε)), rtol = rtol, atol = 1e-2 * rtol)
for ε in list(1.0, 1e-2, 1e-4, 1e-8) {
  s = kaps_by(ε, 1e-8)
  print(max(abs(s.y(1.0) - exact)) < 1e-6, s.stats.steps < 1200, max(abs(s.y(0.37) - [exp(-0.74), exp(-0.37)])) < 1e-5)
}
#> true true true
#> true true true
#> true true true
#> true true true
# order 4, with steps fixed by max_step
steps_of(n) = max(abs(ode(kaps(0.5), [1.0, 1], (0.0, 1.0); method = imex(implicit = hard(0.5), first_step = 1/n, max_step = 1/n), rtol = 1e-2, atol = 1e-2, saveat = [1.0]).values[0] - exact))
abs(log2(steps_of(16) / steps_of(32)) - 4) < 0.2     #> true
abs(log2(steps_of(32) / steps_of(64)) - 4) < 0.2     #> true
# Dense output of order 3: its error in one step is O(h^4).
between(h) = { s = ode(kaps(0.5), [1.0, 1], (0.0, h); method = imex(implicit = hard(0.5), first_step = h), rtol = 1e-2, atol = 1e-2); max(abs(s.y(0.4h) - [exp(-0.8h), exp(-0.4h)])) }
abs(log2(between(0.1) / between(0.05)) - 4) < 0.4    #> true
# A stiff component follows a pulse at the ends of steps and between them, for
# every stiffness, to the accuracy of the steps.
pulse(t) = sin(0.3t) + exp(-((t - 12) / 0.8)^2)
followed(λ, rtol) = {
  pull = (t, y) -> [-λ * (y[0] - pulse(t))]
  s = ode((t, y) -> pull(t, y) + [pulse'(t)], [pulse(0.0)], (0.0, 30.0); method = imex(implicit = pull), rtol = rtol, atol = rtol)
  (max(abs(map(t -> s.y(t)[0] - pulse(t), linspace(0.01, 29.99, 600)))), max(abs(s.values[.., 0] - pulse(s.times))), s.stats.steps)
}
for λ in list(1.0, 20.0, 2e3, 1e6, 1e8) {
  for rtol in list(1e-4, 1e-6) {
    (between, at, steps) = followed(λ, rtol)
    assert(max(between, at) < 50 * rtol and steps < 500, "{λ} {rtol}: {between} {at} {steps}")
  }
}
# The nonstiff part given explicitly; both parts must sum to the whole.
soft = (t, y) -> [-2 * y[0], y[0] - y[1] - y[1]^2]
ode(kaps(1e-6), [1.0, 1], (0.0, 1.0); method = imex(implicit = hard(1e-6), explicit = soft), rtol = 1e-8, atol = 1e-10).y(1.0)     #~ exact tol 1e-6
try { str(ode(kaps(1e-6), [1.0, 1], (0.0, 1.0); method = imex(implicit = hard(1e-6), explicit = (t, y) -> -soft(t, y))).times) } catch m { contains(m, "the two parts do not add up") }      #> true
try { str(ode(kaps(1e-6), [1.0, 1], (0.0, 1.0); method = imex(implicit = (t, y) -> [1.0, 2, 3])).times) } catch m { contains(m, "gives 3 numbers for 2 unknowns") }         #> true
# An explicit method at the same tolerance needs many more steps for stability.
ode(kaps(1e-4), [1.0, 1], (0.0, 1.0); method = tsit5(), rtol = 1e-6, atol = 1e-8).stats.steps > 20 * kaps_by(1e-4, 1e-6).stats.steps       #> true
# backward in time, with events, and the partial solution of a failure
ode((t, y) -> y, [1.0], (1.0, 0.0); method = imex(implicit = (t, y) -> 0.5y), rtol = 1e-9, atol = 1e-11).y(0.0)    #~ [exp(-1)] tol 1e-7
ode(kaps(1e-4), [1.0, 1], (0.0, 5.0); method = imex(implicit = hard(1e-4)), rtol = 1e-8, atol = 1e-10, events = event((t, y) -> y[1] - 0.5; terminal = true)).events.times     #~ [log(2)] tol 1e-6
left = ode((t, y) -> y^2, [1.0], (0.0, 2.0); method = imex(implicit = (t, y) -> -y), partial = true);
(left.complete, abs(left.times[-1] - 1) < 1e-4)      #> (false, true)

# Diffusion and reaction on a line, with sparse implicit diffusion: agrees with
# radau5 and bdf.
n = 60
dx = 1 / (n + 1)
diffusion(D) = (t, u) -> D * (concat(u[1..], [0.0]) - 2u + concat([0.0], u[..-1])) / dx^2
reaction = (t, u) -> 20 * u * (1 - u) * (u - 0.3)
u0 = exp(-100 * (dx * (iota(n) + 1) - 0.5)^2)
front(D, m, sp) = ode((t, u) -> diffusion(D)(t, u) + reaction(t, u), u0, (0.0, 0.5); method = m, rtol = 1e-8, atol = 1e-10, sparse = sp, saveat = [0.5]).values[0]
reference = front(0.05, bdf(), true);
front(0.05, imex(implicit = diffusion(0.05)), true)  #~ reference tol 1e-6
front(0.05, imex(implicit = diffusion(0.05)), false)         #~ reference tol 1e-6

# Derivatives are those of the steps, exact for them in every mode, and close to
# those of the solution.
fitted(p) = ode((t, y) -> [-(1/p[0] + 2) * y[0] + y[1]^2/p[0], y[0] - p[1] * y[1] - y[1]^2], [1.0, 1], (0.0, 1.0); method = imex(implicit = (t, y) -> [(y[1]^2 - y[0]) / p[0], 0.0]), rtol = 1e-9, atol = 1e-11, saveat = [1.0]).values[0]
by_bdf(p) = ode((t, y) -> [-(1/p[0] + 2) * y[0] + y[1]^2/p[0], y[0] - p[1] * y[1] - y[1]^2], [1.0, 1], (0.0, 1.0); method = radau5(), rtol = 1e-10, atol = 1e-12, saveat = [1.0]).values[0]
jacobian(fitted)([0.01, 1.2])        #~ jacobian(by_bdf)([0.01, 1.2]) tol 1e-5
grad(p -> sum(fitted(p)^2))([0.01, 1.2])     #~ grad(p -> sum(by_bdf(p)^2))([0.01, 1.2]) tol 1e-5
hessian(p -> sum(fitted(p)^2))([0.5, 1.2])   #~ hessian(p -> sum(by_bdf(p)^2))([0.5, 1.2]) tol 1e-4
(e -> ode(kaps(0.01), [1.0, 1], (0.0, e); method = imex(implicit = hard(0.01)), rtol = 1e-9, atol = 1e-11).y(e)[1])'(1.0)       #~ -exp(-1) tol 1e-5
total(D) = sum(front(D, imex(implicit = diffusion(D)), true))
(total'(0.05), grad(total)(0.05))    #~ ((total(0.0501) - total(0.0499)) / 2e-4, total'(0.05)) tol 1e-3
# batched
map(ε -> ode(kaps(ε), [1.0, 1], (0.0, 1.0); method = imex(implicit = hard(ε)), rtol = 1e-8, atol = 1e-10, saveat = [1.0]).values[0], [1.0, 1e-2, 1e-5])    #~ [exact, exact, exact] tol 1e-6

# ---- multirate

# an oscillator fifty times as fast as the component that it drives
quick = (t, y) -> [-50 * y[1], 50 * y[0], 0.0]
driven = (t, y) -> quick(t, y) + [0.0, 0.0, -y[2] + 0.1 * y[0]^2]
truth = ode(driven, [1.0, 0, 1], (0.0, 1.0); method = dop853(), rtol = 1e-12, atol = 1e-13).y(1.0)
slow_steps(h, q, m) = ode(driven, [1.0, 0, 1], (0.0, 1.0); method = multirate(h; fast = quick, inner = m, order = q), rtol = 1e-11, atol = 1e-12, saveat = [1.0]).values[0]
slow_steps(0.02, 3, dop853())        #~ truth tol 1e-4
slow_steps(0.01, 4, dop853())        #~ truth tol 1e-6
slow_steps(0.01, 4, tsit5())         #~ truth tol 1e-6
# The orders, where the slow part is smooth within a step: y' = A y + B y,
# against its matrix exponential.
A = [-1.0, 2; -2, -1]
B = [0.1, -0.4; 0.3, -0.2]
linear(h, q) = max(abs(ode((t, y) -> (A + B) @ y, [1.0, 0.5], (0.0, 2.0); method = multirate(h; fast = (t, y) -> A @ y, order = q), rtol = 1e-13, atol = 1e-15, saveat = [2.0]).values[0] - expm(2 * (A + B)) @ [1.0, 0.5]))
abs(log2(linear(0.2, 3) / linear(0.1, 3)) - 3) < 0.25        #> true
abs(log2(linear(0.2, 4) / linear(0.1, 4)) - 4) < 0.25        #> true
# The slow part is evaluated only as often as slow steps need.
grad(k -> ode((t, y) -> [-50 * y[1], 50 * y[0], -k * y[2] + 0.1 * y[0]^2], [1.0, 0, 1], (0.0, 1.0); method = multirate(0.01; fast = quick), rtol = 1e-9, atol = 1e-11, saveat = [1.0]).values[0, 2])(1.0)      #~ grad(k -> ode((t, y) -> [-50 * y[1], 50 * y[0], -k * y[2] + 0.1 * y[0]^2], [1.0, 0, 1], (0.0, 1.0); method = dop853(), rtol = 1e-11, atol = 1e-13, saveat = [1.0]).values[0, 2])(1.0) tol 1e-4

# Adaptive slow steps: a slow part with a pulse at t = 5 changes the frequency
# of an oscillator 200 times as fast.
spin = (t, y) -> [-(200 + y[2]) * y[1], (200 + y[2]) * y[0], 0.0, 0.0]
pulsed(a) = (t, y) -> [0.0, 0.0, y[3], -a * y[2] + 20exp(-((t - 5) / 0.01)^2)]
both(a) = (t, y) -> spin(t, y) + pulsed(a)(t, y)
from = [1.0, 0, 1, 0]
paced(m, ts) = ode(both(1.0), from, (0.0, 10.0); method = m, rtol = 1e-6, atol = 1e-6, saveat = ts)
true_end = ode(both(1.0), from, (0.0, 10.0); method = dop853(), rtol = 1e-12, atol = 1e-13, saveat = [4.9, 5.03, 7.0, 10.0]).values
by_error = paced(multirate(fast = spin, slow = pulsed(1.0), order = 4), [10.0])
by_equal = paced(multirate(0.0125; fast = spin, slow = pulsed(1.0), order = 4, inner = dop853()), [10.0])
explicitly = paced(dop853(), [10.0])
off_end(s) = max(abs(s.values[0, 2..] - true_end[-1, 2..]))
(off_end(by_error) < 1e-5, by_error.stats.error_test_failures > 0)       #> (true, true)
# Fewer evaluations of the slow part for a smaller error: a quarter of those
# with equal steps, a twentieth of those of one method for both parts.
(off_end(by_error) < off_end(by_equal), 4 * by_error.stats.rhs < by_equal.stats.rhs, 20 * by_error.stats.rhs < explicitly.stats.rhs)   #> (true, true, true)
# Output times are ends of steps, where the fast part is as accurate as
# elsewhere.
for q in list(3, 4) {
  s = ode(both(1.0), from, (0.0, 10.0); method = multirate(fast = spin, order = q), rtol = 1e-8, atol = 1e-8, saveat = [4.9, 5.03, 7.0, 10.0])
  assert(max(abs(s.values - true_end)) < 2e-5, "order {q}: {max(abs(s.values - true_end))}")
}
# The error estimate also covers components without a fast part.
alone(q, tol) = ode((t, y) -> [-y[0] * y[1], sin(3t)], [1.0, 0], (0.0, 4.0); method = multirate(fast = (t, y) -> 0.0 * y, order = q), rtol = tol, atol = tol, saveat = [4.0]).values[0]
alone_true = ode((t, y) -> [-y[0] * y[1], sin(3t)], [1.0, 0], (0.0, 4.0); method = dop853(), rtol = 1e-12, atol = 1e-14, saveat = [4.0]).values[0]
for q in list(3, 4) { for tol in list(1e-4, 1e-6, 1e-8) { assert(max(abs(alone(q, tol) - alone_true)) < 3tol, "order {q}, {tol}") } }
# Derivatives in both modes, backward in time, batched, and parts that do not
# sum to the whole.
turned(a) = ode(both(a), from, (0.0, 5.2); method = multirate(fast = spin, slow = pulsed(a), order = 4), rtol = 1e-7, atol = 1e-7, saveat = [5.0, 5.2]).values[-1, 2]
slope_of_it = (a -> ode(both(a), from, (0.0, 5.2); method = dop853(), rtol = 1e-10, atol = 1e-11, saveat = [5.2]).values[-1, 2])'(1.0);
(turned'(1.0), grad(turned)(1.0))    #~ (slope_of_it, slope_of_it) tol 1e-4
ode((t, y) -> y, [1.0], (1.0, 0.0); method = multirate(fast = (t, y) -> 0.5y), rtol = 1e-8, atol = 1e-10).y(0.0)   #~ [exp(-1)] tol 1e-6
map(r -> ode((t, y) -> -r * y, [1.0], (0.0, 1.0); method = multirate(fast = (t, y) -> -0.5r * y), rtol = 1e-8, atol = 1e-10, saveat = [1.0]).values[0, 0], [0.1, 1.0, 5.0])    #~ [exp(-0.1), exp(-1), exp(-5)] tol 1e-6
try { str(paced(multirate(fast = spin, slow = spin), [10.0]).times) } catch m { contains(m, "the two parts do not add up") }      #> true
try { str(paced(multirate(-1.0; fast = spin), [10.0]).times) } catch m { contains(m, "must be more than 0") }      #> true
# Slow steps are rejected when the inner method, a stiff one with at most six
# steps, fails inside them.
lost = ode((t, y) -> [-y[0]^3, -1e4 * (y[1] - y[0])], [1.0, 0], (0.0, 2.0); method = multirate(fast = (t, y) -> [0.0, -1e4 * (y[1] - y[0])], inner = rodas5p(max_steps = 6)), rtol = 1e-7, atol = 1e-9, saveat = [2.0])
lost.stats.error_test_failures > 10      #> true
lost.values[0, 0]    #~ 1/sqrt(5) tol 1e-7
# An unbounded slow part: steps are rejected until they are too short to change
# t, which is reported.
left = ode((t, y) -> [y[0]^2, -50 * y[1]], [1.0, 1], (0.0, 2.0); method = multirate(fast = (t, y) -> [0.0, -50 * y[1]]), partial = true);
(left.complete, abs(left.times[-1] - 1) < 1e-3)      #> (false, true)

# The Jacobian is reused while it converges. A linear part needs one; van der
# Pol's equation needs far fewer than steps. The values agree with another
# method.
linear_part = ode((t, y) -> [-1e5 * (y[0] - y[1]), cos(t)], [0.0, 0], (0.0, 2.0); method = imex(implicit = (t, y) -> [-1e5 * (y[0] - y[1]), 0.0]), rtol = 1e-8, atol = 1e-10)
linear_part.stats.jacobians        #> 1
linear_part.y(2.0)                 #~ [sin(2), sin(2)] tol 1e-5
relaxing = (t, y) -> [y[1], 20 * (1 - y[0]^2) * y[1] - y[0]]
kept = ode((t, y) -> relaxing(t, y) + [0, 0.1sin(t)], [2.0, 0], (0.0, 20.0); method = imex(implicit = relaxing), rtol = 1e-8, atol = 1e-10)
kept.stats.jacobians > 1 and kept.stats.jacobians < 0.5 * kept.stats.steps     #> true
kept.y(20.0)    #~ ode((t, y) -> relaxing(t, y) + [0, 0.1sin(t)], [2.0, 0], (0.0, 20.0); method = rodas5p(), rtol = 1e-9, atol = 1e-11).y(20.0) tol 1e-5

# Proof of order. One step of h = 1 from 0 integrates y_τ' = product of y_σ over
# the branches σ of the tree τ. The colour of τ's root selects the part of the
# right-hand side. The step yields the elementary weight of τ, which is
# 1/density(τ) where the order condition of τ holds. The fast part is a
# polynomial and is integrated exactly.
# References: Butcher; two-coloured trees: Araujo, Murua and Sanz-Serna, SIAM J.
# Numer. Anal. 34, 1997.
trees_upto(p) = {
  # Each item is (order, density, colour, branches), by increasing order.
  # Branches are in nonincreasing order, so that each tree occurs once.
  out = list()
  for n in list(...(1..p + 1)) {
    forests = list()
    if n == 1 { forests = push(forests, list()) }
    for (i, a) in enumerate(out) {
      if a[0] == n - 1 { forests = push(forests, list(i)) }
      for (j, b) in enumerate(out) {
        if j <= i and a[0] + b[0] == n - 1 { forests = push(forests, list(i, j)) }
        for (k, c) in enumerate(out) {
          if j <= i and k <= j and a[0] + b[0] + c[0] == n - 1 { forests = push(forests, list(i, j, k)) }
        }
      }
    }
    known = out
    for f in forests {
      density = f64(n)
      for i in f { density = density * known[i][1] }
      for colour in list(0, 1) { out = push(out, (n, density, colour, f)) }
    }
  }
  out
}
trees = trees_upto(4);
len(trees)                                          #> 72
# A missing branch refers to the entry after the trees, which is 1.
branch(i) = stack(...map(t -> if len(t[3]) > i { t[3][i] } else { 72 }, trees))
(first, second, third) = (branch(0), branch(1), branch(2))
is_fast = concat(stack(...map(t -> f64(t[2]), trees)), [0.0])
rate(y) = concat(y[first] * y[second] * y[third], [0.0])
off(order) = {
  s = ode((t, y) -> rate(y), concat(zeros(72), [1.0]), (0.0, 1.0); method = multirate(1.0; fast = (t, y) -> is_fast * rate(y), slow = (t, y) -> (1 - is_fast) * rate(y), order = order), saveat = [1.0])
  s.values[0, ..72] - 1 / stack(...map(t -> t[1], trees))
}
orders = stack(...map(t -> t[0], trees))
(o3, o4) = (off(3), off(4));
max(abs(o3[orders <= 3])) < 1e-13                   #> true
max(abs(o3[orders == 4])) > 1e-3                    #> true
max(abs(o4)) < 1e-13                                #> true
