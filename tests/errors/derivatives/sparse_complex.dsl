#! error E0403 2:1-2:44 "a sparse derivative is of a function of a real array that gives a real or complex array"
jacobian(z -> z^2; sparse = true)([1im, 2])
