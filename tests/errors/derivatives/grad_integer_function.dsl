#! error E0402 3:1-3:13 "a gradient is of a real number, and `f` gives bool" hint "a whole-numbered function has no slope; f64(...) inside it makes it real"
f(x) = floor(x) > 1
grad(f)(2.0)
