#! error E0604 2:1 "a delay differential equation goes forward in time, not from 0"
dde((t, y, Z) -> -Z[0], [1.0], (0.0, -2.0); lags = 1.0)
