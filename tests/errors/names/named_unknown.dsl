#! error E0203 3:18-3:31 "`newton` has no argument `tolerance`"
newton(f, x; tol = 1e-3, steps = 10) = x
newton(sin, 1.0; tolerance = 1)
