# Explicit integrators written in the language: order, dense output, reference
# solutions, derivatives, map, failures.

# ---- order, by halving a fixed step (no error control)
pendulum = (t, y) -> [y[1], -sin(y[0])]
exact = ode(pendulum, [1.0, 0], (0.0, 5.0); method = dop853(), rtol = 1e-13, atol = 1e-15, saveat = [2.1, 5.0]).values;
wrong(m) = max(abs(ode(pendulum, [1.0, 0], (0.0, 5.0); method = m, rtol = 1e9, atol = 1e9, saveat = [5.0]).values[0] - exact[1]))
inside(m) = max(abs(ode(pendulum, [1.0, 0], (0.0, 5.0); method = m, rtol = 1e9, atol = 1e9).y(2.1) - exact[0]))
fifth(h) = tsit5(first_step = h, max_step = h)
eighth(h) = dop853(first_step = h, max_step = h)
log2(wrong(fifth(0.1)) / wrong(fifth(0.05)))      #~ 5 tol 0.25
log2(wrong(eighth(0.5)) / wrong(eighth(0.25)))    #~ 8 tol 0.6
log2(wrong(rk4(0.1)) / wrong(rk4(0.05)))          #~ 4 tol 0.15
log2(wrong(euler(0.01)) / wrong(euler(0.005)))    #~ 1 tol 0.15
for order in list(2, 4, 6, 8) {
  rate = log2(wrong(symplectic(0.25; order = order)) / wrong(symplectic(0.125; order = order)))
  assert(abs(rate - order) < 0.15, "symplectic of order {order}: {rate}")
}
# Dense output: inside a step the error is that of the interpolant, h^5 for
# order 4 and h^8 for order 7.
log2(inside(fifth(0.2)) / inside(fifth(0.1))) > 4.3       #> true
log2(inside(eighth(1.0)) / inside(eighth(0.5))) > 6.5     #> true
log2(inside(rk4(0.2)) / inside(rk4(0.1))) > 3.5           #> true
inside(symplectic(0.125; order = 8)) < 1e-10              #> true

# The coefficients of a stage sum to its time: with t as an additional unknown,
# the steps are the same.
forced = (t, y) -> [-y[0] * t + cos(3t)]
beside = (t, y) -> [-y[0] * y[1] + cos(3y[1]), 1.0]
one_step(f, y, m) = ode(f, y, (0.3, 1.0); method = m, rtol = 1e9, atol = 1e9, saveat = [1.0]).values[0, 0]
one_step(forced, [0.7], fifth(0.7)) - one_step(beside, [0.7, 0.3], fifth(0.7))      #~ 0 tol 1e-14
one_step(forced, [0.7], eighth(0.7)) - one_step(beside, [0.7, 0.3], eighth(0.7))    #~ 0 tol 1e-14
ode(forced, [0.7], (0.3, 1.0); method = eighth(0.7), rtol = 1e9, atol = 1e9).y(0.6) -
  ode(beside, [0.7, 0.3], (0.3, 1.0); method = eighth(0.7), rtol = 1e9, atol = 1e9).y(0.6)[..1]  #~ [0] tol 1e-14

# ---- references
# Lorenz and Hénon-Heiles by extrapolation in quadruple precision, Arenstorf's
# closed orbit, Pleiades from the test set for IVP solvers.
lorenz = (t, u) -> [10(u[1] - u[0]), u[0] * (28 - u[2]) - u[1], u[0] * u[1] - 8/3 * u[2]]
at = [1.0, 5, 10, 20]
references = [-9.408450567056036, -9.09619907118648, 28.58162762439234; -6.974570472684818, -7.021060890822530, 25.11961649212759;
  -5.857685382424090, -5.831082486426100, 23.93213298702757; -8.021143613317437, -11.90546474917175, 19.85637485839842]
differ(m, r) =
  abs(ode(lorenz, [1.0, 0, 0], (0.0, 20.0); method = m, rtol = r, atol = r * 1e-2, saveat = at).values - references) /
  max(abs(references))
d8 = differ(dop853(), 1e-12);
max(d8[..3]) < 1e-8 and max(d8[3]) < 1e-4    #> true
d5 = differ(tsit5(), 1e-11);
max(d5[..3]) < 1e-7                          #> true
henon = (t, y) -> [y[2], y[3], -y[0] * (1 + 2y[1]), -y[1] - (y[0]^2 - y[1]^2)]
H(y) = (y[2]^2 + y[3]^2) / 2 + (y[0]^2 + y[1]^2 + 2y[0]^2 * y[1] - 2/3 * y[1]^3) / 2
h100 =
  ode(henon, [0.1, 0, 0, 0.5], (0.0, 1000.0); method = dop853(), rtol = 1e-13, atol = 1e-15, saveat = [10.0, 100, 1000]).values;
h100[0]                    #~ [0.03670891970302608, 0.6826922399017149, 0.04716396717584516, -0.02530595881386305] tol 1e-11
h100[1]                    #~ [-0.04019423787606882, 0.6790169217720217, 0.03845092895185983, 0.04859483155300364] tol 1e-10
abs(H(h100[2]) - 0.13) < 1e-12    #> true
drift =
  map(H, ode(henon, [0.1, 0, 0, 0.5], (0.0, 1000.0); method = symplectic(0.1; order = 4),
    saveat = linspace(0.0, 1000, 101)).values) - 0.13;
max(abs(drift)) < 1e-6     #> true
abs(mean(drift[50..]) - mean(drift[..50])) < 1e-7    #> true
kepler = (t, y) -> { r = (y[0]^2 + y[1]^2)^1.5; [y[2], y[3], -y[0] / r, -y[1] / r] }
energy(y) = (y[2]^2 + y[3]^2) / 2 - 1 / sqrt(y[0]^2 + y[1]^2)
orbit =
  ode(kepler, [0.4, 0, 0, 2], (0.0, 200π); method = symplectic(0.05; order = 6), saveat = 2π * linspace(1, 100, 100)).values;
max(abs(map(energy, orbit) + 0.5)) < 1e-5    #> true
moon = (t, y) -> {
  m = 0.012277471
  d1 = ((y[0] + m)^2 + y[1]^2)^1.5
  d2 = ((y[0] - 1 + m)^2 + y[1]^2)^1.5
  [y[2], y[3], y[0] + 2y[3] - (1 - m) * (y[0] + m) / d1 - m * (y[0] - 1 + m) / d2, y[1] - 2y[2] - (1 - m) * y[1] / d1 -
    m * y[1] / d2]
}
start = [0.994, 0.0, 0.0, -2.00158510637908252]
ode(moon, start, (0.0, 17.0652165601579625589); method = dop853(), rtol = 1e-12, atol = 1e-14,
  saveat = [17.0652165601579625589]).values[0]  #~ start tol 1e-6
stars = (t, s) -> {
  (x, y) = (s[..7], s[7..14])
  dx = expand(x, 0) - expand(x, 1)
  dy = expand(y, 0) - expand(y, 1)
  w = expand(1.0 + iota(7), 0) / (dx^2 + dy^2 + eye(7))^1.5
  concat(s[14..], sum(w * dx; axis = 1), sum(w * dy; axis = 1))
}
s0 = f64([3, 3, -1, -3, 2, -2, 2, 3, -3, 2, 0, 0, -4, 4, 0, 0, 0, 0, 0, 1.75, -1.5, 0, 0, 0, -1.25, 1, 0, 0])
pleiades = ode(stars, s0, (0.0, 3.0); method = dop853(), rtol = 1e-10, atol = 1e-10, saveat = [3.0]).values[0];
pleiades[..7]      #~ [0.37061391439705130, 3.2372840920572331, -3.2225590324183233, 0.65970914557753084, 0.34255817071565798, 1.5621721014006310, -0.70030929222124954] tol 1e-6
pleiades[21..]     #~ [-3.7412449612340085, 0.37734596857506290, 0.93868588695510789, 0.36679222272005699, -0.34740463538084944, 2.3449154481809369, -1.9470204342632919] tol 1e-5

# ---- output: all steps, chosen times, the end; forward and backward
turn = (t, y) -> [y[1], -y[0]]
truth(t) = [cos(t), -sin(t)]
for m in list(tsit5(), dop853(), rk4(0.01), symplectic(0.02; order = 4)) {
  for end in list(7.0, -7.0) {
    r = ode(turn, [1.0, 0], (0.0, end); method = m, rtol = 1e-9, atol = 1e-11)
    assert(r.times[0] == 0 and r.times[-1] == end, "times of {m.name}")
    assert(len(r.times) % m.degree == 1, "rows of {m.name}")
    assert(max(abs(r.values[-1] - truth(end))) < 1e-7, "end of {m.name}")
    for t in [0.0, 0.37, 0.5, 1.0] { assert(max(abs(r.y(t * end) - truth(t * end))) < 1e-7, "{m.name} at {t * end}") }
    few = end * [0.0, 0.1, 0.10001, 0.73, 1.0]
    v = ode(turn, [1.0, 0], (0.0, end); method = m, rtol = 1e-9, atol = 1e-11, saveat = few).values
    assert(max(abs(v[.., 0] - cos(few))) < 1e-7, "saveat of {m.name}")
    many = linspace(0.1 * end, 0.9 * end, 200)
    v = ode(turn, [1.0, 0], (0.0, end); method = m, rtol = 1e-9, atol = 1e-11, saveat = many).values
    assert(max(abs(v[.., 1] + sin(many))) < 1e-7, "many times of {m.name}")
  }
}
ode((t, y) -> -y, [2.0], (1.0, 1.0); method = tsit5()).values                      #> [[2]]
ode((t, y) -> -y, [2.0], (1.0, 3.0); method = dop853(), saveat = [1.0]).values     #> [[2]]
long = linspace(0.0, 1, 40);
r = ode((t, y) -> -y * t, long, (0.0, 1.0); method = tsit5(), rtol = 1e-8, atol = 1e-10);
max(abs(r.values[-1] - long * exp(-0.5))) < 1e-7     #> true
max(abs(r.y(0.5) - long * exp(-0.125))) < 1e-7       #> true
few = ode((t, y) -> 0 * y, [1.0, 2], (0.0, 1e6); method = dop853()).stats;
few.steps < 20             #> true
problem springs(k = 4.0) {
  domain t in [0, 2]
  field x, v
  x_t == v
  v_t == -k * x
  x == 1 at t = 0
  v == 0 at t = 0
}
solve(springs(), dop853(), rtol = 1e-10, atol = 1e-12).x([0.5, 2.0])          #~ cos([1.0, 4.0]) tol 1e-8
solve(springs(), symplectic(0.02; order = 6)).x(2.0)                         #~ cos(4) tol 1e-9

# ---- derivatives
# With respect to parameters, initial values and both end times, in all modes
# and under map.
swing(p) = (t, y) -> [y[1], -p * y[0]]
value(p) = p[1] * cos(sqrt(p[0]) * (p[2] - p[3]))
p0 = [1.3, 0.7, 2.0, 0.5]
final(m) = p -> ode(swing(p[0]), [p[1], 0.0], (p[3], p[2]); method = m, rtol = 1e-10, atol = 1e-12, saveat = [p[2]]).values[0, 0]
grad(final(tsit5()))(p0)            #~ grad(value)(p0) tol 1e-8
hessian(final(tsit5()))(p0)         #~ hessian(value)(p0) tol 1e-7
grad(final(rk4(0.01)))(p0)          #~ grad(value)(p0) tol 1e-7
jvp(final(dop853()), p0, [1.0, 0.5, -0.3, 0.2])[1]      #~ dot(grad(value)(p0), [1.0, 0.5, -0.3, 0.2]) tol 1e-8
map(grad(final(tsit5())), stack(p0, p0 + 0.3))          #~ map(grad(value), stack(p0, p0 + 0.3)) tol 1e-8
map(final(dop853()), stack(p0, p0 + 0.3, 2p0))          #~ map(value, stack(p0, p0 + 0.3, 2p0)) tol 1e-8
whole(p) = ode(swing(p[0]), [p[1], 0.0], (p[3], p[2]); method = tsit5(), rtol = 1e-9, atol = 1e-11).y(1.2)[0]
there(p) = p[1] * cos(sqrt(p[0]) * (1.2 - p[3]))
grad(whole)(p0)                     #~ grad(there)(p0) tol 1e-6
times(p) =
  sum(ode(swing(p[0]), [p[1], 0.0], (0.0, 3.0); method = dop853(), rtol = 1e-10, atol = 1e-12,
    saveat = p[2] * [0.3, 0.8, 1.1]).values[.., 0])
moved(p) = sum(p[1] * cos(sqrt(p[0]) * p[2] * [0.3, 0.8, 1.1]))
grad(times)(p0)                     #~ grad(moved)(p0) tol 1e-7
# against the sensitivity equations of CVODES
preys(p) = (t, y) -> [p[0] * y[0] - p[1] * y[0] * y[1], p[1] * y[0] * y[1] - p[2] * y[1]]
eaten(m) = p -> ode(preys(p), [1.0, 1.5], (0.0, 4.0); method = m, rtol = 1e-10, atol = 1e-12, saveat = [4.0]).values[0, 1]
grad(eaten(dop853()))([1.5, 1.0, 3.0])    #~ grad(eaten(bdf()))([1.5, 1.0, 3.0]) tol 1e-6

# A batched call equals the individual calls.
ensemble(m) =
  r -> ode((t, u) -> [10(u[1] - u[0]), u[0] * (r - u[2]) - u[1], u[0] * u[1] - 8/3 * u[2]], [1.0, 0, 0], (0.0, 1.0); method = m,
    rtol = 1e-7, atol = 1e-9, saveat = [0.4, 1.0]).values
rs = linspace(0.0, 60, 37)
alone(m) = stack(...map(k -> ensemble(m)(rs[9k]), list(0, 1, 2, 3, 4)))
max(abs(map(ensemble(tsit5()), rs)[.. by 9] - alone(tsit5()))) < 1e-6       #> true
max(abs(map(ensemble(dop853()), rs)[.. by 9] - alone(dop853()))) < 1e-6     #> true

# ---- errors state the time and the cause
tells(f, words) = {
  said = try { f(); "nothing" } catch m { m }
  for w in words { assert(find(said, w) >= 0, "{w} in: {said}") }
}
tells(() -> ode((t, y) -> y^2, [1.0], (0.0, 2.0); method = tsit5()),
  list("no solution beyond t = 1.00000", "the step became too small", "y[0]", "grow without bound"))
tells(() -> ode((t, y) -> [1.0, 1 / (y[0] - y[0])], [1.0, 2], (0.0, 2.0); method = dop853()),
  list("beyond t = 0.0", "element 1 of the right-hand side is not finite"))
tells(() -> ode((t, y) -> [-sqrt(y[0])], [1.0], (0.0, 3.0); method = dop853()),
  list("no solution beyond t = ", "the values are y = "))
tells(() -> ode((t, y) -> -1000(y - cos(t)), [1.0], (0.0, 200.0); method = tsit5(max_steps = 1000)),
  list("1000 steps are used up on the way to t = 200.0", "A stiff method"))
tells(() -> ode((t, y) -> -y, [1.0], (0.0, 2.0); method = tsit5(), saveat = [0.5, 3]),
  list("saveat must lie between 0.0 and 2.0"))
tells(() -> ode((t, y) -> -y, [1.0], (0.0, 2.0); method = rk4(0.1), saveat = [0.5, 0.4]),
  list("the times of saveat must be in order"))
tells(() -> ode((t, y) -> [y[1], -y[0] - 0.1y[1]], [1.0, 2], (0.0, 2.0); method = symplectic(0.1)),
  list("p' to depend on the positions alone"))
tells(() -> ode((t, y) -> -y, [1.0, 2, 3], (0.0, 2.0); method = symplectic(0.1)), list("an even number of unknowns, not 3"))
tells(() -> ode((t, y) -> [y[1], -y[0]], [1.0, 2], (0.0, 2.0); method = symplectic(0.1; order = 5)), list("orders 2, 4, 6 and 8"))
tells(() -> ode((t, y) -> y, zeros(0), (0.0, 2.0); method = tsit5()), list("the initial value is empty"))
tells(() -> ode((t, y) -> y, [1.0, nan], (0.0, 2.0); method = tsit5()), list("initial value 1 is nan"))
tells(() -> ode((t, y) -> y, [1.0], (0.0, inf); method = tsit5()), list("must be finite numbers, not 0.0 and inf"))
tells(() -> ode((t, y) -> y, [1.0], (0.0, 1.0); method = rk4(0.0)), list("the step of rk4() must be more than 0"))
tells(() -> ode((t, y) -> y, [1.0, 0], (0.0, 1.0); method = tsit5(), atol = 0.0),
  list("y[1] has nothing to measure its error by"))

# ---- fixed steps into a blow-up: y = 1 / (1 - a t)
# They end where values are no longer finite, and report it. The partial
# solution has derivatives.
bursting(m, a, partial) = ode((t, y) -> a * y^2, [1.0], (0.0, 2.0); method = m, partial = partial)
try { str(bursting(rk4(0.01), 1.0, false).y(0.5)) } catch e { "{contains(e, "no longer finite")}" }      #> true
try { str(bursting(euler(0.01), 1.0, false).y(0.5)) } catch e { "{contains(e, "no longer finite")}" }   #> true
bursting(rk4(0.01), 1.0, true).times[-1] < 1.05                        #> true
grad(a -> bursting(rk4(0.01), a, true).y(0.5)[0])(1.0)                 #~ 2 tol 1e-6
jvp(a -> bursting(rk4(0.01), a, true).y(0.5)[0], 1.0, 1.0)[1]          #~ grad(a -> bursting(rk4(0.01), a, true).y(0.5)[0])(1.0) tol 1e-9
isfinite(grad(a -> bursting(euler(0.01), a, true).values[-1][0])(1.0))   #> true
# A rate that is infinite only at the end is not evaluated there.
ode((t, y) -> [0.5 / sqrt(1 - t)], [0.0], (0.0, 1.0); method = euler(0.25), saveat = [1.0]).values[0, 0]   #~ sum(0.125 / sqrt(1 - iota(4) / 4)) tol 1e-12
