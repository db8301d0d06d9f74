#! error E0505 2:1-2:30 "det takes a matrix with all its elements: det(dense(A))"
det(spdiags((2.0,), (0,), 1))
