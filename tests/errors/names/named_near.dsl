#! error E0203 3:18-3:26 "`newton` has no argument `step`; did you mean `steps`?"
newton(f, x; tol = 1e-3, steps = 10) = x
newton(sin, 1.0; step = 1)
