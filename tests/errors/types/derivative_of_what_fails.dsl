#! error E0302 4:1-4:23 "no derivative at f64[20]: the function itself fails at these lengths"
inside(x) = { x[1..1] = x[2] * x[1..]; x }
x0 = 1 + f64(iota(20)) / 7
vjp(inside, x0)[1](x0)
