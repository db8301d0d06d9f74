#! error E0505 2:1 "multirate has the orders 3 and 4, not 5"
ode((t, y) -> -y, [1.0], (0.0, 1.0); method = multirate(0.1; fast = (t, y) -> -0.9y, order = 5))
