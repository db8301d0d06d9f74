#! error E0302 2:1-2:51 "cannot take i64[3, 2] along an axis of i64[2, 3]"
take_along([1, 2, 3; 4, 5, 6], [0, 1; 1, 0; 0, 0])
