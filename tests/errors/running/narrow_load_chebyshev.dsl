#! error E0604 9:5-9:31 "load changes at x = 0.367 and again at 0.37, and no point of chebyshev() is between these, so that it sees nothing of what is there: more points make it better, and the elements of fem() end where a problem changes. partial = true gives the solution all the same"
# narrower than a cell
problem load {
  domain x in [0, 1]
  field u
  -u_xx == exp(-((x - 0.37)/0.001)^2)
  u == 0 at boundary
}
s = solve(load, chebyshev(24))
