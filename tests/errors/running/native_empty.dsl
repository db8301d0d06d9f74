#! error E0604 2:1 "a differential equation needs an unknown: the initial value is empty"
ode((t, y) -> y, zeros(0), (0.0, 1.0); method = rodas5p())
