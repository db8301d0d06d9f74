# ode.dsl - stiff systems by backward differentiation formulas.
#
# Van der Pol's oscillator and the Brusselator on a line. The Jacobians are by
# automatic differentiation.

oscillator(t1) = {
  s = ode((t, u) -> [u[1], 1000(1 - u[0]^2)*u[1] - u[0]], [2.0, 0.0], (0.0, t1); method = bdf(),
    rtol = 1e-8, atol = 1e-10, saveat = [t1])
  s.values[0]
}

line(y) = {
  slope(t, y) = {
    w = reshape(y, -1, 2)
    (u, v) = (w[.., 0], w[.., 1])
    between = 0.02 * (len(u) + 1.0)^2
    du = 1 + u^2 * v - 4u + between * (concat([1.0], u[..-1]) - 2u + concat(u[1..], [1.0]))
    dv = 3u - u^2 * v + between * (concat([3.0], v[..-1]) - 2v + concat(v[1..], [3.0]))
    ravel(stack(du, dv; axis = 1))
  }
  ode(slope, y, (0.0, 10.0); method = bdf(), rtol = 1e-7, atol = 1e-10, sparse = true,
    saveat = [10.0]).values[0]
}
