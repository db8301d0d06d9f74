#! error E0606 2:1-2:59 "the sparse matrix is singular"
linsolve(sparse([0, 1], [0, 0], [1.0, 2], 2, 2), [1.0, 2])
