ode((t, y) -> -3y + (if t > 0.4 {  } else { 0.0 }), [0.5], (0.0, 1.0); events = event((t, y) -> y[0] - 0.6))
