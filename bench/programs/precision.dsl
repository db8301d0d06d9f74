# precision.dsl - problems of the test sets at a given tolerance by each method.
#
# The method "default" is that of a call without a method. atol / rtol is that
# of bench/work_precision/references.txt.

reactions(t, y) = {
  (a, b, c) = (0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1]^2)
  [b - a, a - b - c, c]
}
response(t, y) = {
  v = 280y[5] * y[7]
  decay = v - 1.81y[6]
  [-1.71y[0] + 0.43y[1] + 8.32y[2] + 0.0007, 1.71y[0] - 8.75y[1], -10.03y[2] + 0.43y[3] + 0.035y[4],
   8.32y[1] + 1.71y[2] - 1.12y[3], -1.745y[4] + 0.43y[5] + 0.43y[6],
   -v + 0.69y[3] + 1.71y[4] - 0.43y[5] + 0.69y[6], decay, -decay]
}
pollution(t, y) = {
  r1 = 0.35 * y[0]
  r2 = 26.6 * y[1] * y[3]
  r3 = 12300 * y[4] * y[1]
  r4 = 8.6e-4 * y[6]
  r5 = 8.2e-4 * y[6]
  r6 = 15000 * y[6] * y[5]
  r7 = 1.3e-4 * y[8]
  r8 = 24000 * y[8] * y[5]
  r9 = 16500 * y[10] * y[1]
  r10 = 9000 * y[10] * y[0]
  r11 = 0.022 * y[12]
  r12 = 12000 * y[9] * y[1]
  r13 = 1.88 * y[13]
  r14 = 16300 * y[0] * y[5]
  r15 = 4.8e6 * y[2]
  r16 = 3.5e-4 * y[3]
  r17 = 0.0175 * y[3]
  r18 = 1e8 * y[15]
  r19 = 4.44e11 * y[15]
  r20 = 1240 * y[16] * y[5]
  r21 = 2.1 * y[18]
  r22 = 5.78 * y[18]
  r23 = 0.0474 * y[0] * y[3]
  r24 = 1780 * y[18] * y[0]
  r25 = 3.12 * y[19]
  [r2 + r3 + r9 + r11 + r12 + r22 + r25 - r1 - r10 - r14 - r23 - r24,
   r1 + r21 - r2 - r3 - r9 - r12,
   r1 + r17 + r19 + r22 - r15,
   r15 - r2 - r16 - r17 - r23,
   2r4 + r6 + r7 + r13 + r20 - r3,
   2r18 + r3 - r6 - r8 - r14 - r20,
   r13 - r4 - r5 - r6,
   r4 + r5 + r6 + r7,
   -r7 - r8,
   r7 + r9 - r12,
   r8 + r11 - r9 - r10,
   r9,
   r10 - r11,
   r12 - r13,
   r14,
   r16 - r18 - r19,
   -r20,
   r20,
   r23 + r25 - r21 - r22 - r24,
   r24 - r25]
}
bodies(t, z) = {
  (x, y) = (z[..7], z[7..14])
  dx = expand(x, 0) - expand(x, 1)
  dy = expand(y, 0) - expand(y, 1)
  q = dx^2 + dy^2 + eye(7)
  pull = expand(iota(7) + 1.0, 0) / (q * sqrt(q))
  concat(z[14..], sum(pull * dx; axis = 1), sum(pull * dy; axis = 1))
}
butterfly(t, u) = [10(u[1] - u[0]), u[0]*(28 - u[2]) - u[1], u[0]*u[1] - 8/3*u[2]]
brusselator(t, y) = {
  w = reshape(y, 500, 2)
  (u, v) = (w[.., 0], w[.., 1])
  between = 0.02 * 501^2
  du = 1 + u^2 * v - 4u + between * (concat([1.0], u[..-1]) - 2u + concat(u[1..], [1.0]))
  dv = 3u - u^2 * v + between * (concat([3.0], v[..-1]) - 2v + concat(v[1..], [3.0]))
  ravel(stack(du, dv; axis = 1))
}

pollution_start() = {
  y = zeros(20)
  y[[1, 3, 6, 7, 8, 16]] = [0.2, 0.04, 0.1, 0.3, 0.01, 0.007]
  y
}
pleiades_start() =
  f64(concat([3, 3, -1, -3, 2, -2, 2], [3, -3, 2, 0, 0, -4, 4], [0, 0, 0, 0, 0, 1.75, -1.5],
    [0, 0, 0, -1.25, 1, 0, 0]))
brusselator_start() =
  ravel(stack(1 + 0.5 * sin(2π * (iota(500) + 1) / 501), 3 * ones(500); axis = 1))

robertson_default(rtol) =
  ode(reactions, [1.0, 0, 0], (0.0, 1e5); rtol = rtol, atol = 1e-6*rtol, saveat = [1e5]).values[0]
robertson_rodas5p(rtol) =
  ode(reactions, [1.0, 0, 0], (0.0, 1e5); method = rodas5p(), rtol = rtol, atol = 1e-6*rtol,
    saveat = [1e5]).values[0]
robertson_radau5(rtol) =
  ode(reactions, [1.0, 0, 0], (0.0, 1e5); method = radau5(), rtol = rtol, atol = 1e-6*rtol,
    saveat = [1e5]).values[0]
robertson_radau9(rtol) =
  ode(reactions, [1.0, 0, 0], (0.0, 1e5); method = radau(order = 9), rtol = rtol, atol = 1e-6*rtol,
    saveat = [1e5]).values[0]
robertson_radau13(rtol) =
  ode(reactions, [1.0, 0, 0], (0.0, 1e5); method = radau(order = 13), rtol = rtol, atol = 1e-6*rtol,
    saveat = [1e5]).values[0]
robertson_bdf(rtol) =
  ode(reactions, [1.0, 0, 0], (0.0, 1e5); method = bdf(), rtol = rtol, atol = 1e-6*rtol,
    saveat = [1e5]).values[0]

hires_default(rtol) =
  ode(response, [1.0, 0, 0, 0, 0, 0, 0, 0.0057], (0.0, 321.8122); rtol = rtol, atol = 1e-4*rtol,
    saveat = [321.8122]).values[0]
hires_rodas5p(rtol) =
  ode(response, [1.0, 0, 0, 0, 0, 0, 0, 0.0057], (0.0, 321.8122); method = rodas5p(), rtol = rtol,
    atol = 1e-4*rtol, saveat = [321.8122]).values[0]
hires_radau5(rtol) =
  ode(response, [1.0, 0, 0, 0, 0, 0, 0, 0.0057], (0.0, 321.8122); method = radau5(), rtol = rtol,
    atol = 1e-4*rtol, saveat = [321.8122]).values[0]
hires_radau9(rtol) =
  ode(response, [1.0, 0, 0, 0, 0, 0, 0, 0.0057], (0.0, 321.8122); method = radau(order = 9),
    rtol = rtol, atol = 1e-4*rtol, saveat = [321.8122]).values[0]
hires_radau13(rtol) =
  ode(response, [1.0, 0, 0, 0, 0, 0, 0, 0.0057], (0.0, 321.8122); method = radau(order = 13),
    rtol = rtol, atol = 1e-4*rtol, saveat = [321.8122]).values[0]
hires_bdf(rtol) =
  ode(response, [1.0, 0, 0, 0, 0, 0, 0, 0.0057], (0.0, 321.8122); method = bdf(), rtol = rtol,
    atol = 1e-4*rtol, saveat = [321.8122]).values[0]
hires_dop853(rtol) =
  ode(response, [1.0, 0, 0, 0, 0, 0, 0, 0.0057], (0.0, 321.8122);
    method = dop853(max_steps = 2000000), rtol = rtol,
    atol = 1e-4*rtol, saveat = [321.8122]).values[0]

pollution_default(rtol) =
  ode(pollution, pollution_start(), (0.0, 60.0); rtol = rtol, atol = 1e-4*rtol,
    saveat = [60.0]).values[0]
pollution_rodas5p(rtol) =
  ode(pollution, pollution_start(), (0.0, 60.0); method = rodas5p(), rtol = rtol, atol = 1e-4*rtol,
    saveat = [60.0]).values[0]
pollution_radau5(rtol) =
  ode(pollution, pollution_start(), (0.0, 60.0); method = radau5(), rtol = rtol, atol = 1e-4*rtol,
    saveat = [60.0]).values[0]
pollution_radau9(rtol) =
  ode(pollution, pollution_start(), (0.0, 60.0); method = radau(order = 9), rtol = rtol,
    atol = 1e-4*rtol, saveat = [60.0]).values[0]
pollution_radau13(rtol) =
  ode(pollution, pollution_start(), (0.0, 60.0); method = radau(order = 13), rtol = rtol,
    atol = 1e-4*rtol, saveat = [60.0]).values[0]
pollution_bdf(rtol) =
  ode(pollution, pollution_start(), (0.0, 60.0); method = bdf(), rtol = rtol, atol = 1e-4*rtol,
    saveat = [60.0]).values[0]

pleiades_default(rtol) =
  ode(bodies, pleiades_start(), (0.0, 3.0); rtol = rtol, atol = rtol, saveat = [3.0]).values[0]
pleiades_tsit5(rtol) =
  ode(bodies, pleiades_start(), (0.0, 3.0); method = tsit5(), rtol = rtol, atol = rtol,
    saveat = [3.0]).values[0]
pleiades_dop853(rtol) =
  ode(bodies, pleiades_start(), (0.0, 3.0); method = dop853(), rtol = rtol, atol = rtol,
    saveat = [3.0]).values[0]
pleiades_adams(rtol) =
  ode(bodies, pleiades_start(), (0.0, 3.0); method = adams(), rtol = rtol, atol = rtol,
    saveat = [3.0]).values[0]

lorenz_default(rtol) =
  ode(butterfly, [1.0, 0, 0], (0.0, 10.0); rtol = rtol, atol = rtol, saveat = [10.0]).values[0]
lorenz_tsit5(rtol) =
  ode(butterfly, [1.0, 0, 0], (0.0, 10.0); method = tsit5(), rtol = rtol, atol = rtol,
    saveat = [10.0]).values[0]
lorenz_dop853(rtol) =
  ode(butterfly, [1.0, 0, 0], (0.0, 10.0); method = dop853(), rtol = rtol, atol = rtol,
    saveat = [10.0]).values[0]
lorenz_adams(rtol) =
  ode(butterfly, [1.0, 0, 0], (0.0, 10.0); method = adams(), rtol = rtol, atol = rtol,
    saveat = [10.0]).values[0]

brusselator_default(rtol) =
  ode(brusselator, brusselator_start(), (0.0, 10.0); rtol = rtol, atol = rtol,
    saveat = [10.0]).values[0]
brusselator_bdf(rtol) =
  ode(brusselator, brusselator_start(), (0.0, 10.0); method = bdf(), rtol = rtol, atol = rtol,
    sparse = true, saveat = [10.0]).values[0]
