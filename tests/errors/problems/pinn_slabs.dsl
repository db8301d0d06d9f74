#! error E0505 8:5-8:44 "pinn(slabs = ...) needs t among the coordinates"
problem plate {
  domain x in [0, 1]
  field u
  u_xx == -1
  u == 0 at x = 0, x = 1
}
s = solve(plate, pinn((8,), 20; slabs = 2))
