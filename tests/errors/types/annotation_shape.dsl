#! error E0304 3:13-3:24 "y is f64[3], but `n` stands for 2 here" second 2:17 "declared here"
f(x: f64[n], y: f64[n]) = x + y
f([1.0, 2], [1.0, 2, 3])
