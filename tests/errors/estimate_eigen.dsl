#! error E0505 3:1 "estimate = true) is not for eigenvalue problems: solve twice, and compare"
problem membrane { domain x in [0, 1], y in [0, 1]; field u; eigen λ; -Δ(u) == λ*u; u == 0 at boundary }
solve(membrane, fd(n = 11), estimate = true)
