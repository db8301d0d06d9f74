#! error E0202 3:1-3:5 "this function takes 2 arguments, and 1 is given" second 2:9 "`y` has no value"
g = (x, y) -> x + y
g(1)
