#! error E0505 8:1-8:24 "springs has conditions at the end of t: bdf() starts from initial values; collocation() and shooting() solve boundary value problems"
problem springs {
  domain t in [0, 1]
  field y
  y_tt == -y
  y == 0 at t = 0, t = 1
}
solve(springs(), bdf()).y(0)
