#! error E0604 2:1 "The right-hand side may jump there, back and forth: make the place of the jump an event"
ode((t, y) -> [if y[0] > 0 { -1.0 } else { 1.0 }], [1.0], (0.0, 10.0); method = radau5(max_steps = 2000))
