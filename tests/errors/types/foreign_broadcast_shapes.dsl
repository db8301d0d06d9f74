#! error E0302 3:1-3:15 "cannot multiply f64[3, 3] and f64[4, 4]" second 2:1 "f64[3, 3] came from here"
A = ones(3, 3)
A * ones(4, 4)
