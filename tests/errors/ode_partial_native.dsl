#! error E0505 2:1 "dop853() gives a whole solution or none: partial = true is for bdf() and adams()"
ode((t, y) -> y^2, [1.0], (0.0, 2.0); method = dop853(), partial = true)
