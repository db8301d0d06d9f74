#! error E0604 2:1 "rtol and atol must be finite numbers, zero or more"
ode((t, y) -> -y, [1.0, 2], (0.0, 1.0); method = radau5(), rtol = -1e-6)
