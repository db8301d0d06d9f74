#! error E0401 2:12-2:22 "`nonzero` gives a length that only the point decides, so that no pattern holds at every point"
f(x) = 2 * x[x > 0.5]
jacobian(f; sparse = true)(linspace(0, 1, 20))
