#! error E0606 2:1-2:31 "the matrix is singular (pivot 1 of 2)"
linsolve([1, 2; 2, 4], [1, 2])
