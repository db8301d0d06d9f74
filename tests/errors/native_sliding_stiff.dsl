#! error E0604 2:1 "Such short steps mostly say that the right-hand side jumps there, back and forth"
ode((t, y) -> [if y[0] > 0 { -1.0 } else { 1.0 }], [1.0], (0.0, 10.0); method = radau5(max_steps = 2000))
