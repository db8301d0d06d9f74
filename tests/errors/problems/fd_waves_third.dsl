# by order 4 this wave was off by 1e79 at t = 1, by 2 and by rfm() it is right
#! error E0505 11:1 "fd(order = 4) makes waves of third order in space grow beside walls; fd(order = 2) and rfm() do not"
problem kdv {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == -0.01*u_xxx
  u == sin(π*x)^4 at t = 0
  u == 0          at boundary
  u_x == 0        at x = 1
}
solve(kdv, fd(41))
