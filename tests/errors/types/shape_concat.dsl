#! error E0302 2:1-2:41 "cannot join i64[2, 2] and i64[2, 3] along axis 0"
concat([1, 2; 3, 4], [1, 2, 3; 4, 5, 6])
