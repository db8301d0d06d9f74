#! error E0703 2:1 "2000 steps are used up on the way to t = 10" hint "such short steps mostly say that the right-hand side jumps there, back and forth: make the place of the jump an event, or smooth it"
ode((t, y) -> [if y[0] > 0 { -1.0 } else { 1.0 }], [1.0], (0.0, 10.0); method = bdf(max_steps = 2000))
