#! error E0203 3:13-3:18 "the argument `k` is given twice"
f(x; k = 1) = x
f(1; k = 2, k = 3)
