#! error E0604 2:1 "the trouble is y[1] = "
ode((t, y) -> [-y[0], y[1]^2], [1.0, 1.0], (0.0, 2.0); method = rodas5p())
