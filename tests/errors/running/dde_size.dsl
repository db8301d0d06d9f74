#! error E0604 2:1 "the right-hand side of a delay differential equation gives"
dde((t, y, Z) -> [Z[0, 0], 1.0, 2.0], [1.0, 2.0], (0.0, 2.0); lags = 1.0)
