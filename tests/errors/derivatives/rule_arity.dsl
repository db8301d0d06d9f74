#! error E0404 3:12-3:13 "`f` has 2 parameters, its rule 1" second 2:1 "`f` is defined here"
f(x, y) = x * y
derivative f(x) = 1
