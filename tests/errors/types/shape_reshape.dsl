#! error E0302 2:1-2:31 "cannot reshape i64[5] to i64[2, 3]: it has 5 elements, not 6"
reshape([1, 2, 3, 4, 5], 2, 3)
