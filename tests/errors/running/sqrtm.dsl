#! error E0604 2:1-2:22 "sqrtm: the matrix has no square root: it is singular, and 0 is a defective eigenvalue"
sqrtm([0.0, 1; 0, 0])
