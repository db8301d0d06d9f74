# stiff.dsl - small stiff systems by the integrators of the library; their Jacobians are derived.

reactions(t, y) = {
  (a, b, c) = (0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1]^2)
  [b - a, a - b - c, c]
}
robertson(t1) = ode(reactions, [1.0, 0, 0], (0.0, t1); method = rodas5p(), rtol = 1.5e-8, atol = 1.5e-14, saveat = [t1]).values[0]

response(t, y) = {
  v = 280y[5] * y[7]
  decay = v - 1.81y[6]
  [-1.71y[0] + 0.43y[1] + 8.32y[2] + 0.0007, 1.71y[0] - 8.75y[1], -10.03y[2] + 0.43y[3] + 0.035y[4],
   8.32y[1] + 1.71y[2] - 1.12y[3], -1.745y[4] + 0.43y[5] + 0.43y[6],
   -v + 0.69y[3] + 1.71y[4] - 0.43y[5] + 0.69y[6], decay, -decay]
}
hires(t1) = ode(response, [1.0, 0, 0, 0, 0, 0, 0, 0.0057], (0.0, t1); method = rodas5p(), rtol = 3e-8, atol = 3e-11, saveat = [t1]).values[0]
