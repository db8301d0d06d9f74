#! error E0604 2:1 "dde: a lag is negative at t = 0"
dde((t, y, Z) -> -Z[0], [1.0], (0.0, 2.0); lags = -1.0)
