#! error E0504 5:3-5:9 "' of a number does not say with respect to which coordinate; write d(..., x)"
problem p {
  field u
  domain t in [0, 1]
  (2*u)' == -u
  u == 1 at t = 0
}
solve(p);
