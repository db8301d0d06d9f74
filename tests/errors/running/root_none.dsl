#! error E0604 2:1-2:24 "root: no convergence from 1.0"
root(x -> x^2 + 1, 1.0)
