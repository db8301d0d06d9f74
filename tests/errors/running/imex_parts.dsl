#! error E0604 2:1 "imex: the two parts do not add up to the right-hand side, which at t = 0.0 is off by 1.0"
ode((t, y) -> -2y, [1.0], (0.0, 1.0); method = imex(implicit = (t, y) -> -y, explicit = (t, y) -> -2y))
