#! error E0104 2:5 "expected an expression, found `@`" hint "a function without a name is written x -> ..., a product of matrices A @ B"
f = @(x) x
