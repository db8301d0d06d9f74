#! error E0605 2:1-2:39 "1 of the rows and columns are out of range for a sparse matrix of 2 by 2"
sparse([0, 2], [0, 1], [1.0, 2], 2, 2)
