#! error E0505 2:47-2:68 "bdf has the linear solvers auto, banded, sparse, krylov, not magic"
ode((t, y) -> -y, [1.0], (0.0, 1.0); method = bdf(linear = "magic"))
