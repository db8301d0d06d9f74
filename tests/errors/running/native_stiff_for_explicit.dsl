#! error E0604 2:1 "or that the problem is stiff, for which bdf or rodas5p need far fewer"
ode((t, y) -> [-1e6*(y[0] - cos(y[1])), 1.0], [2.0, 0], (0.0, 100.0); method = dop853(max_steps = 1000))
