#! warning W0701 2:7-2:87 "cubature: the integrand compares numbers that depend on the place and on what the integral is differentiated by"
(p -> cubature(x -> where(x[0] + x[1] < p, 1.0, 0.0), [0.0, 0], [1.0, 1]; rtol = 1e-2).value)'(0.5)
