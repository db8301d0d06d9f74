#! error E0604 2:1-2:30 "cg: the matrix is not positive definite"
cg([1.0, 0; 0, -1], [1.0, 2])
