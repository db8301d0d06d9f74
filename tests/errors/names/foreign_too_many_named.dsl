#! error E0202 3:6 "`f` takes 1 argument, and 2 are given" hint "the others are given by name: tol = ..."
f(x; tol = 1) = x
f(1, 2)
