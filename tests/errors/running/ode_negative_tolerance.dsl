#! error E0608 2:1 "rtol and the largest step cannot be negative"
ode((t, y) -> -y, [1.0, 2], (0.0, 1.0); rtol = -1e-6)
