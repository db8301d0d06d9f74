#! error E0404 3:22-3:23 "the rule of `f` gives 2 partial derivatives, one for each argument, as a tuple"
f(a, b) = a * b
derivative f(a, b) = a
grad(f)(1.0, 2.0)
