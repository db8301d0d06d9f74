#! error E0302 3:1-3:24 "a sparse matrix has as many rows and columns as values"
A = (rows = [0], columns = [0, 1], values = [1.0, 2.0], column_start = [0, 1, 2], row_start = [0, 1, 2])
linsolve(A, [1.0, 1.0])
