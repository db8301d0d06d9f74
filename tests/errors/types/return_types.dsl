#! error E0302 3:8-3:24 "cannot multiply i64[2] by i64[3]"
f(n) = if n > 3 { f(n - 1) } else { [n, n] }
f(1) + f(5) @ [1, 2, 3]
