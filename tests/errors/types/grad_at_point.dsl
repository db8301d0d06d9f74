#! error E0301 2:21-2:29 "`grad` takes the number of an argument here, not f64[2]" hint "grad(f)(x)"
grad(x -> sum(x^2), [1.0, 2])
