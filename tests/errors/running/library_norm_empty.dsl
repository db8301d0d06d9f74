#! error E0605 2:1-2:21 "a matrix without elements has only the norm"
norm(zeros(0, 0), 2)
