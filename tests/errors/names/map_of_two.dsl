#! error E0202 3:1-3:17 "`f` takes 2 arguments, and 1 is given" hint "map(f, xs, ys)"
f(x, y) = x * y
map(f, [1.0, 2])
