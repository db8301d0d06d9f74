#! error E0302 4:1-4:6 "cannot multiply f64[2, 3] by f64[2, 3]" second 2:1 "f64[2, 3] came from here"
A = ones(2, 3)
B = ones(2, 3)
A @ B
