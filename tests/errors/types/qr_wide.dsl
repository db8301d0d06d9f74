#! error E0302 3:8 "`qr` takes a matrix with at least as many rows as columns, not f64[20, 22]"
(n, d) = (300, 20)
x = qr(randn(d, 22))[0]
