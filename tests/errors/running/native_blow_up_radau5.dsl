#! error E0604 2:1 "stop before it, or say what happens there"
ode((t, y) -> y^2, [1.0], (0.0, 2.0); method = radau5())
