# by order 6 this wave was off by 6e10 at t = 3
#! error E0505 9:1 "fd(order = 6) makes waves of first order in space grow beside walls; fd(order = 4) and chebyshev() do not"
problem along {
  domain t in [0, 3], x in [0, 1]
  field u
  u_t == -u_x
  u == sin(6x) at t = 0; u == -sin(6t) at x = 0
}
solve(along, fd(41, 6))
