#! error E0505 4:1 "u is a function of (t, x)"
problem heat() { domain t in [0, 0.1], x in [0, 1]; field u; u_t == u_xx; u == sin(π*x) at t = 0; u == 0 at x = 0, x = 1 }
s = solve(heat(), fv(n = 20))
s.u(0.1)
