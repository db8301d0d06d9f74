#! error E0505 9:1-9:9 "passes through zero"
problem p {
  domain t in [0, 1]
  field u
  u_t == 1
  u == 0 at t = 0
  event high: u > 0.5
}
solve(p)
