#! error E0701 2:1 "the expression of event 0 is not finite at t = " hint "an event must have a value wherever the integrator looks, behind its zero, too"
ode((t, y) -> [-1.0], [1.0], (0.0, 5.0); events = event((t, y) -> log(y[0]); terminal = true))
