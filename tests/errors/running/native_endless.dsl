#! error E0604 2:1 "the first and the last time must be finite numbers, not 0.0 and inf"
ode((t, y) -> -y, [1.0, 2], (0.0, inf); method = tsit5())
