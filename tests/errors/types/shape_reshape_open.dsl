#! error E0302 2:1-2:32 "cannot reshape i64[5]: 5 elements do not divide by 2"
reshape([1, 2, 3, 4, 5], 2, -1)
