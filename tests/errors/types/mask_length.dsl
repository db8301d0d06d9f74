#! error E0302 3:3-3:22 "a mask of bool[3] for f64[2, 2]"
A = [1.0, 2; 3, 4]
A[[true, false, true]] = 1
