#! error E0602 3:7-3:14 "cannot multiply f64[rows of p.W, columns of p.W] by f64[len(x)]: columns of p.W = 30 and len(x) = 25 differ" second 5:12 "columns of p.W = 30 is from here"
layer(p, x) = {
  z = p.W @ x + p.b
}
_ = (layer((W = ones(20, 30), b = 1.0), ones(25)))
