#! error E0702 2:1 "the last value of y[0] is "
ode((t, y) -> y^2, [1.0], (0.0, 2.0); method = auto())
