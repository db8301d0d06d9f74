# stiff.dsl - small stiff systems by the integrators of the library.
#
# The Jacobians are by automatic differentiation.

reactions(t, y) = {
  (a, b, c) = (0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1]^2)
  [b - a, a - b - c, c]
}
robertson(t1) =
  ode(reactions, [1.0, 0, 0], (0.0, t1); method = radau(order = 9), rtol = 1e-5, atol = 1e-10,
    saveat = [t1]).values[0]

response(t, y) = {
  v = 280y[5] * y[7]
  decay = v - 1.81y[6]
  [-1.71y[0] + 0.43y[1] + 8.32y[2] + 0.0007, 1.71y[0] - 8.75y[1], -10.03y[2] + 0.43y[3] + 0.035y[4],
   8.32y[1] + 1.71y[2] - 1.12y[3], -1.745y[4] + 0.43y[5] + 0.43y[6],
   -v + 0.69y[3] + 1.71y[4] - 0.43y[5] + 0.69y[6], decay, -decay]
}
hires(t1) =
  ode(response, [1.0, 0, 0, 0, 0, 0, 0, 0.0057], (0.0, t1); rtol = 1e-7, atol = 1e-11,
    saveat = [t1]).values[0]

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
pollute(t1) = {
  y = zeros(20)
  y[[1, 3, 6, 7, 8, 16]] = [0.2, 0.04, 0.1, 0.3, 0.01, 0.007]
  ode(pollution, y, (0.0, t1); method = rodas5p(), rtol = 3e-7, atol = 3e-11,
    saveat = [t1]).values[0]
}

# its Jacobian is a band of two diagonals on each side
brusselator(t, y) = {
  w = reshape(y, 500, 2)
  (u, v) = (w[.., 0], w[.., 1])
  between = 0.02 * 501^2
  du = 1 + u^2 * v - 4u + between * (concat([1.0], u[..-1]) - 2u + concat(u[1..], [1.0]))
  dv = 3u - u^2 * v + between * (concat([3.0], v[..-1]) - 2v + concat(v[1..], [3.0]))
  ravel(stack(du, dv; axis = 1))
}
brusselate(t1) = {
  y = ravel(stack(1 + 0.5 * sin(2π * (iota(500) + 1) / 501), 3 * ones(500); axis = 1))
  ode(brusselator, y, (0.0, t1); method = radau5(), rtol = 1e-6, atol = 1e-9, sparse = true,
    saveat = [t1]).values[0]
}

# ---- derivatives by the rates, each times its rate
rated(k) = (t, y) -> {
  (a, b, c) = (k[0] * y[0], k[1] * y[1] * y[2], k[2] * y[1]^2)
  [b - a, a - b - c, c]
}
robertson_slopes(k) = {
  end(k) =
    ode(rated(k), [1.0, 0, 0], (0.0, 1e5); method = radau(order = 9), rtol = 1e-5, atol = 1e-11,
      saveat = [1e5]).values[0]
  (jacobian(end)(k) * expand(k, 0))'
}
polluting(k) = (t, y) -> {
  r1 = k[0] * y[0]
  r2 = k[1] * y[1] * y[3]
  r3 = k[2] * y[4] * y[1]
  r4 = k[3] * y[6]
  r5 = k[4] * y[6]
  r6 = k[5] * y[6] * y[5]
  r7 = k[6] * y[8]
  r8 = k[7] * y[8] * y[5]
  r9 = k[8] * y[10] * y[1]
  r10 = k[9] * y[10] * y[0]
  r11 = k[10] * y[12]
  r12 = k[11] * y[9] * y[1]
  r13 = k[12] * y[13]
  r14 = k[13] * y[0] * y[5]
  r15 = k[14] * y[2]
  r16 = k[15] * y[3]
  r17 = k[16] * y[3]
  r18 = k[17] * y[15]
  r19 = k[18] * y[15]
  r20 = k[19] * y[16] * y[5]
  r21 = k[20] * y[18]
  r22 = k[21] * y[18]
  r23 = k[22] * y[0] * y[3]
  r24 = k[23] * y[18] * y[0]
  r25 = k[24] * y[19]
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
pollute_slopes(k) = {
  end(k) = {
    y = zeros(20)
    y[[1, 3, 6, 7, 8, 16]] = [0.2, 0.04, 0.1, 0.3, 0.01, 0.007]
    ode(polluting(k), y, (0.0, 60.0); method = rodas5p(), rtol = 3e-7, atol = 3e-11,
      saveat = [60.0]).values[0][1]
  }
  k * grad(end)(k)
}
