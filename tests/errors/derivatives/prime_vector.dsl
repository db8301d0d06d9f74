#! error E0403 3:4-3:10 "f' is for functions of a number, and this is i64[2]" hint "grad(f) for a gradient, jacobian(f) for a matrix, map(f', x) for each element"
f(x) = sum(x)
f'([1, 2])
