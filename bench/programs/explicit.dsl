# explicit.dsl - Lorenz's equations by integrators written in the language.
#
# Row "dop853" is one trajectory, row "ensemble" many at a time.

lorenz(r) = (t, u) -> [10(u[1] - u[0]), u[0]*(r - u[2]) - u[1], u[0]*u[1] - 8/3*u[2]]

trajectory(t1) =
  ode(lorenz(28.0), [1.0, 1, 1], (0.0, t1); method = dop853(), rtol = 1e-8, atol = 1e-10,
    saveat = [t1]).values[0]

ensemble(rs) =
  map(r -> ode(lorenz(r), [1.0, 0, 0], (0.0, 1.0); method = tsit5(), rtol = 1e-6, atol = 1e-9,
    saveat = [1.0]).values[0], rs)
