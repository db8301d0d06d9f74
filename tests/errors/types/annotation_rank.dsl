#! error E0304 3:3-3:15 "x is i64[2, 2], but 1 axis is wanted" second 2:6 "declared here"
f(x: f64[n]) = x
f([1, 2; 3, 4])
