#! error E0202 2:1 "`plot` takes at least 1 argument, and 0 are given" hint "there is no argument `x`; the first ones stand without names: a, ..."
plot(x = [1,2], y = [1,2])
