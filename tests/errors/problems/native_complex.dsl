#! error E0505 2:1 "the right-hand side gives complex numbers"
ode((t, y) -> 1im*y, [1.0], (0.0, 1.0); method = rodas5p())
