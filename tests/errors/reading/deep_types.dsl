#! error E0106 3:8-3:17 "`g` calls itself with ever new kinds of arguments"
f(x) = (x, f)
g(h) = g(x -> h)
g(sin)
