#! error E0302 2:1-2:36 "cannot solve f64[2, 2] for i64[3]"
linsolve([1.0, 2; 3, 4], [1, 2, 3])
