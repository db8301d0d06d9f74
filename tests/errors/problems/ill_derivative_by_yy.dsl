#! error E0504 5:10-5:14 "`u_zz` looks like a derivative of `u`, but `zz` names no coordinate of this problem" second 3:11 "the coordinates are here"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  u_xx + u_zz == 1
  u == 0 at boundary
}
