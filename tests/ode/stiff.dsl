# Stiff integrators written in the language: order, reference solutions, dense
# output, derivatives, map, failures.

# ---- order, by halving a fixed step (no error control)
pendulum = (t, y) -> [y[1], -sin(y[0])]
exact = ode(pendulum, [1.0, 0], (0.0, 5.0); method = radau5(), rtol = 1e-12, atol = 1e-14, saveat = [2.1, 5.0]).values;
wrong(m) = max(abs(ode(pendulum, [1.0, 0], (0.0, 5.0); method = m, rtol = 1e9, atol = 1e9, saveat = [5.0]).values[0] - exact[1]))
inside(m) = max(abs(ode(pendulum, [1.0, 0], (0.0, 5.0); method = m, rtol = 1e9, atol = 1e9).y(2.1) - exact[0]))
fixed(m, h) = (...m, first_step = h, max_step = h)
log2(wrong(fixed(rodas5p(), 0.25)) / wrong(fixed(rodas5p(), 0.125)))      #~ 5 tol 0.3
log2(inside(fixed(rodas5p(), 0.5)) / inside(fixed(rodas5p(), 0.125))) / 2      #~ 4 tol 0.3
# The coefficients of a stage sum to its time: with t as an additional unknown,
# a step is the same.
forced = (t, y) -> [-y[0] * t + cos(3t)]
beside = (t, y) -> [-y[0] * y[1] + cos(3y[1]), 1.0]
one_step(f, y, m) = ode(f, y, (0.3, 1.0); method = fixed(m, 0.7), rtol = 1e9, atol = 1e9, saveat = [1.0]).values[0, 0]
one_step(forced, [0.7], rodas5p()) - one_step(beside, [0.7, 0.3], rodas5p())     #~ 0 tol 1e-13
# Newton's iterations of Radau stop according to rtol, so its order is measured
# by the number of steps for a tolerance. Three more digits take 1000^(1/5) = 4
# times as many steps, slightly fewer in practice.
far(m, r) = ode(pendulum, [1.0, 0], (0.0, 5.0); method = m, rtol = r, atol = r, saveat = [5.0])
steps = far(radau5(), 1e-11).stats.steps / far(radau5(), 1e-5).stats.steps
3.5 < steps and steps < 25     #> true
max(abs(far(radau5(), 1e-10).values[0] - exact[1])) < 1e-9     #> true
max(abs(far(rodas5p(), 1e-10).values[0] - exact[1])) < 1e-8     #> true
# Prothero and Robinson: cos t solves y' = -1e6 (y - cos t) - sin t, for every
# stiffness.
for m in list(rodas5p(), radau5(), radau(order = 9), radau(order = 13)) {
  s = ode((t, y) -> -1e6 * (y - cos(t)) - sin(t), [1.0], (0.0, 10.0); method = m, rtol = 1e-8, atol = 1e-10)
  ends = iota(s.stats.steps + 1) * m.degree
  assert(max(abs(s.values[ends, 0] - cos(s.times[ends]))) < 1e-6, "{m.name} on Prothero and Robinson's equation")
  assert(max(abs(s.values[.., 0] - cos(s.times))) < 1e-4, "{m.name}: within its steps")
  assert(s.stats.steps < 250, "{m.name} takes {s.stats.steps} steps")
}

# ---- references
# Radau IIA of order 13 in quadruple precision, which agrees with the test set
# for IVP solvers (Mazzia and Magherini).
off(x, r) = max(abs(x / r - 1))
robertson = (t, y) -> {
  (a, b, c) = (0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1]^2)
  [b - a, a - b - c, c]
}
robertson_at = [7.158270687194050904744738e-01, 9.185534764557763903899213e-06, 2.841637457458303517616223e-01;
  1.78659211420994648468e-02, 7.27475146843631872263e-08, 9.82134006110385850575e-01;
  4.938274520979815560239722e-03, 1.984994087954375437013892e-08, 9.950617056591293048960059e-01;
  2.083340149701294230572549e-08, 8.333360770334783400647660e-14, 9.999999791665151693793543e-01]
for m in list(rodas5p(), radau5(), radau(order = 9), radau(order = 13)) {
  s = ode(robertson, [1.0, 0, 0], (0.0, 1e11); method = m, rtol = 1e-8, atol = 1e-20, saveat = [40, 1e5, 4e5, 1e11])
  assert(off(s.values, robertson_at) < 1e-6, "{m.name} on Robertson's reactions: {off(s.values, robertson_at)}")
  assert(max(abs(sum(s.values; axis = 1) - 1)) < 1e-10, "{m.name}: what is there in all stays")
}
hires = (t, y) -> {
  v = 280y[5] * y[7]
  decay = v - 1.81y[6]
  [-1.71y[0] + 0.43y[1] + 8.32y[2] + 0.0007, 1.71y[0] - 8.75y[1], -10.03y[2] + 0.43y[3] + 0.035y[4],
   8.32y[1] + 1.71y[2] - 1.12y[3], -1.745y[4] + 0.43y[5] + 0.43y[6],
   -v + 0.69y[3] + 1.71y[4] - 0.43y[5] + 0.69y[6], decay, -decay]
}
hires_end = [7.371312573325667807277292e-04, 1.442485726316184658188041e-04, 5.888729740967575007484784e-05,
  1.175651343283149145506044e-03, 2.386356198831330468820989e-03, 6.238968252742792786646933e-03, 2.849998395185768657931116e-03,
  2.850001604814231342068884e-03]
end(f, y, t1, m, r, a) = ode(f, y, (0.0, t1); method = m, rtol = r, atol = a, saveat = [t1]).values[0]
off(end(hires, [1.0, 0, 0, 0, 0, 0, 0, 0.0057], 321.8122, rodas5p(), 1e-8, 1e-11), hires_end) < 1e-8     #> true
off(end(hires, [1.0, 0, 0, 0, 0, 0, 0, 0.0057], 321.8122, radau5(), 1e-10, 1e-13), hires_end) < 1e-8     #> true
oregonator = (t, y) -> [77.27 * (y[1] + y[0] * (1 - 8.375e-6 * y[0] - y[1])), (y[2] - (1 + y[0]) * y[1]) / 77.27,
  0.161 * (y[0] - y[2])]
oregonator_end = [1.000814870318522716281642, 1228.178521549887983718017, 132.0554942846508287742233]
off(end(oregonator, [1.0, 2, 3], 360.0, rodas5p(), 1e-8, 1e-10), oregonator_end) < 1e-6     #> true
off(end(oregonator, [1.0, 2, 3], 360.0, radau5(), 1e-10, 1e-12), oregonator_end) < 1e-8     #> true
van_der_pol = (t, y) -> [y[1], 1000 * (1 - y[0]^2) * y[1] - y[0]]
van_der_pol_end = [1.706167732170465008478188, -8.928097010248165477786031e-04]
off(end(van_der_pol, [2.0, 0], 2000.0, rodas5p(), 1e-8, 1e-10), van_der_pol_end) < 1e-6     #> true
off(end(van_der_pol, [2.0, 0], 2000.0, radau5(), 1e-10, 1e-12), van_der_pol_end) < 1e-8     #> true
E5 = (t, y) -> {
  (a, b, c, d) = (7.89e-10 * y[0], 1.1e7 * y[0] * y[2], 1.13e9 * y[1] * y[2], 1.13e3 * y[3])
  [-a - b, a - c, a - c - b + d, b - d]
}
E5_at =
  [1.384628151937651644982604e-11, 7.637003853007391118032242e-13; 1.382237030498373544333433e-10, 8.251573500683833608812791e-12;
    2.373478156120597502231411e-12, 2.212358668958166365658857e-12; 1.818889586080702191692760e-14,
    1.818881237678672559523698e-14]
for m in list(rodas5p(), radau5(), radau(order = 9), radau(order = 13)) {
  s = ode(E5, [1.76e-3, 0, 0, 0], (0.0, 1e7); method = m, rtol = 1e-7, atol = 1e-26, saveat = [10, 1e3, 1e5, 1e7])
  assert(off(s.values[.., 1..3], E5_at) < 1e-5, "{m.name} on E5: {off(s.values[.., 1..3], E5_at)}")
}
pollution = (t, y) -> {
  k = [0.35, 26.6, 12300, 8.6e-4, 8.2e-4, 15000, 1.3e-4, 24000, 16500, 9000, 0.022, 12000, 1.88, 16300, 4.8e6, 3.5e-4, 0.0175,
    1e8, 4.44e11, 1240, 2.1, 5.78, 0.0474, 1780, 3.12]
  z = concat(y, [1.0])
  r = k * z[[0, 1, 4, 6, 6, 6, 8, 8, 10, 10, 12, 9, 13, 0, 2, 3, 3, 15, 15, 16, 18, 18, 0, 18, 19]] *
    z[[20, 3, 1, 20, 20, 5, 20, 5, 1, 0, 20, 1, 20, 5, 20, 20, 20, 20, 20, 5, 20, 20, 3, 0, 20]]
  [r[1] + r[2] + r[8] + r[10] + r[11] + r[21] + r[24] - r[0] - r[9] - r[13] - r[22] - r[23], r[0] + r[20] - r[1] - r[2] - r[8] -
    r[11],
   r[0] + r[16] + r[18] + r[21] - r[14], r[14] - r[1] - r[15] - r[16] - r[22], 2r[3] + r[5] + r[6] + r[12] + r[19] - r[2],
   2r[17] + r[2] - r[5] - r[7] - r[13] - r[19], r[12] - r[3] - r[4] - r[5], r[3] + r[4] + r[5] + r[6], -r[6] - r[7],
   r[6] + r[8] - r[11], r[7] + r[10] - r[8] - r[9], r[8], r[9] - r[10], r[11] - r[12], r[13], r[15] - r[17] - r[18], -r[19],
    r[19], r[22] + r[24] - r[20] - r[21] - r[23], r[23] - r[24]]
}
air = zeros(20)
air[[1, 3, 6, 7, 8, 16]] = [0.2, 0.04, 0.1, 0.3, 0.01, 0.007]
air_end =
  [5.646255480022769277981673e-02, 1.342484130422338521851185e-01, 4.139734331099426970094594e-09, 5.523140207484359937251945e-03,
    2.018977262302196040124327e-07, 1.464541863493965792558680e-07, 7.784249118997964146099156e-02,
    3.245075353396018218304241e-01, 7.494013383880405552572577e-03, 1.622293157301560349363931e-08,
    1.135863833257074821718228e-08, 2.230505975721359860990974e-03, 2.087162882798630040961111e-04,
    1.396921016840157715603747e-05, 8.964884856898294177578245e-03, 4.352846369330103674237223e-18,
    6.899219696263405404685500e-03, 1.007803037365945953144996e-04, 1.772146513969984537138420e-06,
    5.682943292316393442664348e-05]
off(end(pollution, air, 60.0, rodas5p(), 1e-7, 1e-11), air_end) < 1e-6     #> true
off(end(pollution, air, 60.0, radau5(), 1e-7, 1e-11), air_end) < 1e-6     #> true

# ---- whole solutions, chosen times, backward in time
for m in list(rodas5p(), radau5(), radau(order = 9), radau(order = 13)) {
  whole = ode(van_der_pol, [2.0, 0], (0.0, 500.0); method = m, rtol = 1e-8, atol = 1e-10)
  at = linspace(0.0, 500.0, 41)
  some = ode(van_der_pol, [2.0, 0], (0.0, 500.0); method = m, rtol = 1e-8, atol = 1e-10, saveat = at)
  assert(max(abs(map(whole.y, at) - some.values)) < 1e-9, "{m.name}: dense output is what saveat gives")
  assert(same(some.times, at) and same(some.values[0], [2.0, 0]), "{m.name}: times that were asked for")
  assert(whole.times[-1] == 500 and all(whole.times[1..] > whole.times[..-1]), "{m.name}: times")
  back = ode((t, y) -> [-50 * (y[0] - cos(t))], [0.3], (1.0, 0.9); method = m, rtol = 1e-10, atol = 1e-12)
  forth = ode((t, y) -> [-50 * (y[0] - cos(t))], back.values[-1], (0.9, 1.0); method = m, rtol = 1e-10, atol = 1e-12)
  assert(abs(forth.values[-1, 0] - 0.3) < 1e-8, "{m.name}: there and back")
  long = ode((t, y) -> [y[1], -y[0]], [1.0, 0], (0.0, 400.0); method = m, rtol = 1e-7, atol = 1e-9)
  assert(len(long.times) > 1000 and max(abs(long.y(400.0) - [cos(400.0), -sin(400.0)])) < 1e-3, "{m.name}: many steps")
}
problem decay(k = 100.0) {
  domain t in [0, 1]
  field u
  u_t == -k*(u - cos(t))
  u == 1 at t = 0
}
u(t) = (100^2 * cos(t) + 100 * sin(t)) / (1 + 100^2) + exp(-100t) / (1 + 100^2)
solve(decay(), radau5(); rtol = 1e-9, atol = 1e-11).u(0.7) - u(0.7)      #~ 0 tol 1e-7
solve(decay(), rodas5p(); rtol = 1e-9, atol = 1e-11).u(0.7) - u(0.7)     #~ 0 tol 1e-8

# ---- derivatives of the steps as taken
reactions(p) = (t, y) -> {
  (a, b, c) = (p[0] * y[0], p[1] * y[1] * y[2], p[2] * y[1]^2)
  [b - a, a - b - c, c]
}
p = [0.04, 1e4, 3e7]
after(m, p) = ode(reactions(p), [1.0, 0, 0], (0.0, 0.4); method = m, rtol = 1e-9, atol = 1e-15, saveat = [0.4]).values[0]
wave(q, m) = ode((t, y) -> [y[1] * cos(q * t), -50y[0] - y[1]], [1.0, q], (0.0, 1.0); method = m, rtol = 1e-9, atol = 1e-12)
late(t0, m) =
  ode((t, y) -> [y[1] * cos(t), -50y[0] - y[1]], [1.0, 0], (t0, 1.0); method = m, rtol = 1e-9, atol = 1e-12,
    saveat = [1.0]).values[0, 1]
for m in list(rodas5p(), radau5(), radau(order = 9), radau(order = 13)) {
  # SUNDIALS' cvsRoberts_FSA_dns, recomputed
  d = jvp(p -> after(m, p), p, [1.0, 0, 0])[1]
  assert(off(d, [-3.559525659828556e-01, 3.902544053818219e-04, 3.555623115774737e-01]) < 1e-7, "{m.name}: by a rate, forwards")
  assert(abs(grad(p -> after(m, p)[2])(p)[0] / 3.555623115774737e-01 - 1) < 1e-7, "{m.name}: by the rates, backwards")
  by_time =
    (t -> ode(reactions(p), [1.0, 0, 0], (0.0, t); method = m, rtol = 1e-9, atol = 1e-15, saveat = [t]).values[0, 2])'(0.4)
  assert(abs(by_time - reactions(p)(0.4, after(m, p))[2]) < 1e-9, "{m.name}: by the end time")
  assert(abs((t -> late(t, m))'(0.1) - (t -> late(t, bdf()))'(0.1)) < 1e-5, "{m.name}: by the first time")
  assert(abs((q -> sum(wave(q, m).y(0.7)))'(0.3) - 0.274151907) < 1e-6, "{m.name}: of the whole solution")
  assert(abs((q -> sum(wave(q, m).y(0.7)))''(0.3) - 0.411427099) < 1e-5, "{m.name}: second derivative")
  each = map(k -> after(m, [k, 1e4, 3e7]), [0.03, 0.04, 0.05])
  alone = stack(after(m, [0.03, 1e4, 3e7]), after(m, p), after(m, [0.05, 1e4, 3e7]))
  assert(off(each, alone) < 1e-9, "{m.name}: mapped")
}

# ---- unsolvable problems
gives_up(f, y, t1, m) = try { ode(f, y, (0.0, t1); method = m).stats.steps; "" } catch e { e }
for m in list(rodas5p(max_steps = 3000), radau5(max_steps = 3000), radau(order = 9, max_steps = 3000), radau(order = 13, max_steps = 3000)) {
  said = gives_up((t, y) -> y^2, [1.0], 2.0, m)
  assert(find(said, "no solution beyond t = 1.00000") == 0 and find(said, "grow without bound") > 0, said)
  said = gives_up((t, y) -> [sqrt(0.5 - t)] - y, [1.0], 2.0, m)
  assert(find(said, "too small to change t") > 0, said)
  said = gives_up((t, y) -> [1.0, 2.0], [1.0], 2.0, m)
  assert(find(said, "2 numbers for 1 unknown") > 0, said)
  said = gives_up((t, y) -> [t / 0], [1.0], 2.0, m)
  assert(find(said, "element 0 of the right-hand side is not finite") > 0, said)
}
gives_up((t, y) -> [cos(1000t)], [1.0], 2000.0, radau5(max_steps = 100))[..25]     #> no solution beyond t = 0.
gives_up((t, y) -> y, [nan], 1.0, rodas5p())     #> initial value 0 is nan
# ---- with a sparse Jacobian
heat(t, y) = concat([0.0], y[..-2] - 2y[1..-1] + y[2..], [0.0]) * 400
bump = sin(linspace(0.0, π, 21))
a = ode(heat, bump, (0.0, 0.02); method = rodas5p(), sparse = true, saveat = [0.02]).values[0]
b = ode(heat, bump, (0.0, 0.02); method = radau5(), sparse = true, saveat = [0.02]).values[0]
c = ode(heat, bump, (0.0, 0.02); method = bdf(), rtol = 1e-9, saveat = [0.02]).values[0]
max(abs(a - c)) < 1e-6      #> true
max(abs(b - c)) < 1e-6      #> true
