#! error E0604 2:1 "the step became too small to change t"
ode((t, y) -> y^2, [1.0], (0.0, 2.0); method = tsit5())
