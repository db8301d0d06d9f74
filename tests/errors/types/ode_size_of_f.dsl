#! error E0302 2:1 "the right-hand side: expected 2 real numbers, found f64[3]"
ode((t, y) -> [y[0], y[1], 0.0], [1.0, 2], (0.0, 1.0))
