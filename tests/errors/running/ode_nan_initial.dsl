#! error E0608 2:1 "initial value 1 is NaN"
ode((t, y) -> -y, [1.0, nan], (0.0, 1.0))
