#! error E0303 3:1-3:8 "2 indices for i64[3], which has 1 axis"
x = [1, 2, 3]
x[0, 1]
