#! error E0304 4:12-4:50 "x is i64[2, 3], and f64 with 1 axis is declared"
total(x: f64[n]) = sum(x)
save("/tmp/atled-errors-declared.npy", [1, 2, 3; 4, 5, 6])
y =  total(load("/tmp/atled-errors-declared.npy"))
