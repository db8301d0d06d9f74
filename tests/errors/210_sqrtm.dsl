#! error E0606 2:1-2:24 "the matrix is singular (pivot 0 of 2)"
sqrtm([-1.0, 0; 0, -4])
