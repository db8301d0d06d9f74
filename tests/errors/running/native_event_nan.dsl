#! error E0604 2:1 "the expression of event 0 is not finite at t = "
ode((t, y) -> [-1.0], [1.0], (0.0, 5.0); method = dop853(), events = event((t, y) -> log(y[0]); terminal = true))
