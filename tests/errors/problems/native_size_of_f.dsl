#! error E0505 2:1 "the right-hand side gives 3 numbers for 2 unknowns"
ode((t, y) -> [y[0], y[1], 0.0], [1.0, 2], (0.0, 1.0); method = tsit5())
