#! error E0505 9:1-9:38 "a .pvd file is of a solution in t and space; a .vtu or .vti file holds one without t"
problem still {
  domain x in [0, 1]
  field u
  u_xx == 1
  u == 0 at x = 0, x = 1
}
a = solve(still, fd(n = 11));
save("/tmp/atled-errors-data.pvd", a)
