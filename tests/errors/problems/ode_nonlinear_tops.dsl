#! error E0505 9:1 "hidden must be differentiated (its index is above 1), and its highest derivatives do not enter linearly"
problem hidden() {
  domain t in [0, 1]
  field x, y
  x_t == exp(y)
  x == t + 1
  x == 1 at t = 0
}
solve(hidden(), bdf())
