problem p { domain x in [0, 1]
 field u
 u_xx == -1
 u == 0 at x = 0, x = 1 }
solve(p, fd(n = 10)).u(0.5)
