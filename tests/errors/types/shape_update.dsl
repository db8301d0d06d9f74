#! error E0302 3:1-3:20 "cannot write i64[3] into i64[2], a part of i64[3]"
x = [1, 2, 3]
x[0..2] = [1, 2, 3]
