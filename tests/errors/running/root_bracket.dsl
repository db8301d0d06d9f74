#! error E0604 2:1-2:29 "root: f does not change its sign between 0.0 and 1.0, where it is 1.0 and 2.0"
root(x -> x^2 + 1, (0, 1.0))
