#! error E0604 2:1 "saveat must lie between 0.0 and 1.0; it goes from 0.5 to 1.5"
ode((t, y) -> -y, [1.0, 2], (0.0, 1.0); method = rodas5p(), saveat = [0.5, 1.5])
