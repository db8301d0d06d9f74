#! error E0202 3:3-3:15 "`f` takes 2 arguments, and 3 are given"
f(x, y) = x + y
f(...(1, 2, 3))
