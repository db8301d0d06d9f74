#! error E0505 2:47-2:63 "radau() has the orders 5, 9 and 13, not 7"
ode((t, y) -> -y, [1.0], (0.0, 1.0); method = radau(order = 7))
