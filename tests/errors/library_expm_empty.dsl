#! error E0605 2:1-2:18 "expm: the matrix has no elements"
expm(zeros(0, 0))
