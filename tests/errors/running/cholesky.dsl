#! error E0606 2:1-2:23 "the matrix is not positive definite (pivot 1 of 2)"
cholesky([1, 2; 2, 1])
