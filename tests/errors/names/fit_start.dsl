#! error E0203 4:1 "no argument `kk`; did you mean `k`?"
problem d(k = 1.0) { domain t in [0, 4]; field u; u_t == -k*u; u == 1 at t = 0 }
t = [1.0, 2]
fit(d, (t = t, u = t); start = (kk = 1,))
