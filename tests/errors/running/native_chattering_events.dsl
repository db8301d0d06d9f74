#! error E0604 2:1 "events follow each other too closely at t = 1: "
ode((t, y) -> [-1.0], [1.0], (0.0, 10.0); method = tsit5(), events = event((t, y) -> y[0]; direction = "falling", then = (t, y) -> [1e-9]))
