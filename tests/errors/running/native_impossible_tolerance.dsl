#! error E0604 2:1 "rtol and atol ask for more than 64-bit numbers can hold"
ode((t, y) -> -y, [1.0, 2], (0.0, 1.0); method = dop853(), rtol = 1e-18, atol = 1e-40)
