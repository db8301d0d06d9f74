#! error E0306 3:1-3:11 "cannot write f64 into i64[3]" hint "f64(...) of the whole array makes room for it"
x = [1, 2, 3]
x[0] = 2.5
