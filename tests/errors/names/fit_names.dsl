#! error E0203 4:24-4:31 "`fit` has no argument `for`" hint "parameters stand there by their names: for = k, or for = (a, b)"
problem d(k = 1.0) { domain t in [0, 4]; field u; u_t == -k*u; u == 1 at t = 0 }
t = [1.0, 2]
fit(d, (t = t, u = t); for = 1)
