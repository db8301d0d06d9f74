#! error E0605 3:1-3:13 "cannot multiply a sparse matrix of 2 by 3 by an array of 2 rows"
A = sparse([0, 1], [0, 2], [1.0, 2], 2, 3)
A @ [1.0, 2]
