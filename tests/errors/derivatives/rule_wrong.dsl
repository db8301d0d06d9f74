#! check-rules
#! error E0405 5:35 "the derivative rule of `scaled` gives"
scaled(x, k) = k * sum(x^2)
# k is missing
derivative scaled(x, k), dx, dk = sum(2x * dx) + dk * sum(x^2)
grad(scaled)([1.0, 2], 3.0)
