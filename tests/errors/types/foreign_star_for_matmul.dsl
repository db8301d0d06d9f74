#! error E0302 3:1-3:15 "cannot multiply f64[2, 3] and f64[3, 2]" second 2:1 "f64[2, 3] came from here" hint "`*` works element by element; the product of matrices is written `@`"
A = ones(2, 3)
A * ones(3, 2)
