#! error E0302 2:11-2:16 "cannot add f64[3] and f64[2]" second 3:3 "f64[3] came from here"
f(x, y) = x + y
f([1.0, 2, 3], [1.0, 2])
