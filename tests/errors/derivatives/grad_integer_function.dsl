#! error E0402 3:1-3:13 "a gradient is of a real number, and `f` gives bool" hint "a function of integers has no derivative; f64(...) inside it makes it real"
f(x) = floor(x) > 1
grad(f)(2.0)
