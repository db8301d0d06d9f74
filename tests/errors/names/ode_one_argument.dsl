#! error E0202 2:1 "this function takes 1 argument, and 2 are given"
ode(y -> -y, [1.0], (0.0, 1.0))
