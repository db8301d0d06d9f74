#! error E0304 3:3-3:6 "x is f64, which does not become i64 by itself" second 2:6 "declared here"
f(x: i64) = x
f(2.5)
