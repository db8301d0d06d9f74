#! error E0402 2:1-2:24 "a gradient is of a real number, and the function gives c128" hint "real(...) or abs(...) of it is a real number"
grad(z -> z^2)(1 + 1im)
