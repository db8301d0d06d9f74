#! error E0503 7:15-7:20 "`u` is first order in t and takes 1 condition there; there are 2"
problem p {
  domain t in [0, 1]
  field u
  u_t == -u
  u == 1 at t = 0
  u_t == 1 at t = 0
}
