#! error E0505 10:1-10:38 "a solution of fd() lies on no mesh, which a .vtu file holds: save it as .vti, an image, or with its values and functions as .h5"
problem heat {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == sin(π*x) at t = 0
  u == 0 at x = 0, x = 1
}
a = solve(heat, fd(n = 11));
save("/tmp/atled-errors-data.vtu", a)
