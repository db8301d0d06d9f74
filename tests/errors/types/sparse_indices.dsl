#! error E0301 3:1-3:24 "the rows, columns and column starts of a sparse matrix are vectors of i64"
A = (rows = i32([0, 1]), columns = [0, 1], values = [1.0, 2.0], column_start = [0, 1, 2], row_start = [0, 1, 2])
linsolve(A, [1.0, 1.0])
