#! error E0202 3:1-3:22 "`f` takes 2 arguments, and 1 is given" second 2:6 "`y` has no value" hint "v -> f(v[0], v[1])"
f(x, y) = x * y
jacobian(f)([1.0, 2])
