#! error E0505 4:1 "knows no bounds: write exp(k) in the problem for a parameter that is positive"
problem d(k = 1.0) { domain t in [0, 4]; field u; u_t == -k*u; u == 1 at t = 0 }
t = [1.0, 2]
fit(d, (t = t, u = t); for = k, by = pinn((4,), 10), lower = (k = 0.0,))
