#! error E0302 2:1 "cannot combine i64[2] and f64[3]"
besselj([1, 2], [1.0, 2, 3])
