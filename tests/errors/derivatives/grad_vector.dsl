#! error E0402 3:1-3:16 "a gradient is of a real number, and `f` gives f64[2]" hint "jacobian(f) is for functions that give arrays; sum(...) makes a number"
f(x) = x^2
grad(f)([1, 2])
