#! error E0604 2:1 "what comes after an event must be a state like the one before, of 2 numbers"
ode((t, y) -> [y[1], -1.0], [1.0, 0], (0.0, 5.0); events = event((t, y) -> y[0]; then = (t, y) -> [0.0, 1, 2]))
