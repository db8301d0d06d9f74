#! error E0302 2:1 "the right-hand side: expected 1 real numbers, found c128[1]"
ode((t, y) -> 1im*y, [1.0], (0.0, 1.0))
