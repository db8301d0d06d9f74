#! error E0604 2:1-2:43 "fixed_point: the iteration runs away"
fixed_point(x -> exp(2x), 1.0, memory = 0)
