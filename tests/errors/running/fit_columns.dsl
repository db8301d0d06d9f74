#! error E0604 4:1 "no column of an unknown, u"
problem d(k = 1.0) { domain t in [0, 4]; field u; u_t == -k*u; u == 1 at t = 0 }
t = [1.0, 2]
fit(d, (t = t, v = t); for = k)
