#! error E0304 2:18-2:27 "the result is f64[3], but the length is declared as 2" second 2:9 "declared here"
f(x) -> f64[2] = [x, x, x]
f(1.0)
