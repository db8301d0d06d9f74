#! error E0505 2:1 "solve takes a problem, or a matrix and a right side; a zero of a function is found by root(f, x0)"
solve(x -> x^2, 1)
