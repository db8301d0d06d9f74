#! error E0605 2:34-2:55 "not \"svd\""
least_squares(x -> x - 1, [0.0], lm(equations = "svd"))
