#! error E0605 2:1 "atol has 3 numbers for 2 unknowns"
ode((t, y) -> -y, [1.0, 2], (0.0, 1.0); atol = [1e-6, 1e-6, 1e-6])
