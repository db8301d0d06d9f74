#! warning W0701 2:5-2:87 "the steps of rk4() are 0.05 long, and something in the problem lasts 0.006: steps of less than 0.003 see it"
r = ode((t, y) -> [exp(-((t - 0.41)/0.001)^2)], [1.0], (0.0, 1.0); method = rk4(0.05))
