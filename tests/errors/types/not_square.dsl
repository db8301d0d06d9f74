#! error E0302 2:1-2:24 "this takes a square matrix, not i64[2, 3]"
inv([1, 2, 3; 4, 5, 6])
