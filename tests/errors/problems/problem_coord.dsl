#! error E0504 6:20-6:25 "`y` is not a coordinate of this problem"
problem p {
  domain x in [0, 1]
  field u
  u_xx == 1
  u == 0 at x = 0, y = 1
}
