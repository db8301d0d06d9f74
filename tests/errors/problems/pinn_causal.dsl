#! error E0505 8:1-8:36 "pinn(causal = true) needs t among the coordinates"
problem still {
  domain x in [0, 1]
  field u
  u_xx == 1
  u == 0 at x = 0, x = 1
}
solve(still, pinn(; causal = true))
