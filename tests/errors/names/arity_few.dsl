#! error E0202 3:1-3:5 "`f` takes 2 arguments, and 1 is given" second 2:6 "`y` has no value"
f(x, y) = x + y
f(1)
