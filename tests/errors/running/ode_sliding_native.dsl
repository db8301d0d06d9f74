#! error E0604 2:1 "2000 steps are used up on the way to t = 10"
ode((t, y) -> [if y[0] > 0 { -1.0 } else { 1.0 }], [1.0], (0.0, 10.0); method = dop853(max_steps = 2000))
