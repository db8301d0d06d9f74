#! error E0302 4:1-4:6 "cannot multiply i64[2, 2] by i64[3]" second 2:1 "i64[2, 2] came from here"
W = [1, 2; 3, 4]
x = [1, 2, 3]
W @ x
