#! error E0504 5:3-5:7 "`u_yy` looks like a derivative of `u`, but `yy` names no coordinate of this problem" second 3:10 "the coordinate is here"
problem p {
  domain x in [0, 1]
  field u
  u_yy == 1
  u == 0 at x = 0, x = 1
}
