# ode.dsl - van der Pol's oscillator, stiff, by backward differentiation; the Jacobian is derived.

oscillator(t1) = {
  s = ode((t, u) -> [u[1], 1000(1 - u[0]^2)*u[1] - u[0]], [2.0, 0.0], (0.0, t1); method = bdf(), rtol = 1e-8, atol = 1e-10,
    saveat = [t1])
  s.values[0]
}
