#! error E0505 9:1-9:20 "switches by the clock"
problem plate {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == 1 at t = 0
  u == (if t < 0.5 { 1.0 } else { 0.0 }) at x = 0, x = 1
}
solve(plate, rfm())
