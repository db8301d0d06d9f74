#! error E0608 2:1 "the last time must be a finite number"
ode((t, y) -> -y, [1.0, 2], (0.0, inf))
