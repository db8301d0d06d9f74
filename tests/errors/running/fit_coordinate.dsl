#! error E0604 4:1 "no column t, which is a coordinate"
problem d(k = 1.0) { domain t in [0, 4]; field u; u_t == -k*u; u == 1 at t = 0 }
t = [1.0, 2]
fit(d, (u = t); for = k)
