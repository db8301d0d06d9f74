#! error E0608 2:1 "the times at which the solution is wanted must lie between 0 and 1 and go from the one to the other; time 1 is 1.5"
ode((t, y) -> -y, [1.0, 2], (0.0, 1.0); saveat = [0.5, 1.5])
