#! error E0208 4:12-4:13 "the field `u` stands twice"
problem p {
  domain x in [0, 1]
  field u, u
  u_xx == 1
  u == 0 at x = 0, x = 1
}
