f(a, x) = sum(tanh(a * x))
grad(f)(2.0, ones(10))
hessian(x -> sum(x^3))([1.0, 2])
