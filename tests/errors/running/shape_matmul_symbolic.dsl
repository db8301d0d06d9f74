#! error E0602 2:26-2:31 "cannot multiply f64[m, n] by f64[len(x)]: n = 30 and len(x) = 25 differ" second 3:7 "n = 30 is from here"
layer(W: f64[m, n], x) = W @ x
layer(ones(20, 30), ones(25))
