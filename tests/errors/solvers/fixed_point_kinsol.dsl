#! error E0701 2:1 "no zero found: 500 steps are used up"
fixed_point(x -> 2*x + 1, [1.0], kinsol(memory = 0))
