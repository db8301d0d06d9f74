#! error E0202 3:1-3:13 "`f` takes 2 arguments, and 1 is given" second 2:6 "`y` has no value" hint "∂(f, i)(x, y)"
f(x, y) = x * y
grad(f)(1.0)
