#! error E0505 2:1 "the expression of an event is one number, of which a sign is asked; this one is an array"
ode((t, y) -> [y[1], -1.0], [1.0, 0], (0.0, 5.0); events = event((t, y) -> y))
