#! error E0202 3:6-3:7 "`f` takes 1 argument, and 2 are given" second 2:1 "defined here"
f(x) = x
f(1, 2)
