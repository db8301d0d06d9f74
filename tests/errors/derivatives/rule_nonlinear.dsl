#! error E0401 3:23-3:27 "`*` is applied to a tangent, but is not linear: a rule of differentiation must be"
f(x) = x^2
derivative f(x), dx = dx^2
grad(f)(1.0)
