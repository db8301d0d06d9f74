#! error E0604 2:1 "the fastest element is y[0]"
ode((t, y) -> y^2, [1.0], (0.0, 2.0); method = dop853())
