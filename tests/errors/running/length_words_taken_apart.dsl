#! error E0602 2:28-2:33 "cannot multiply f64[rows of a, columns of a] by f64[len(x)]: columns of a = 40 and len(x) = 20 differ" second 3:20 "columns of a = 40 is from here"
residual(x, (a, b)) = b + (a @ x)
residual(ones(20), (ones(30, 40), ones(30)))
