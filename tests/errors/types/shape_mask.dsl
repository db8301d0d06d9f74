#! error E0302 3:3-3:16 "a mask of bool[2] for i64[3]"
x = [1, 2, 3]
x[[true, false]]
