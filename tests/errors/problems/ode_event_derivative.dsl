#! error E0505 9:1 "the event far gives a value to a derivative that follows from the equations"
problem driven() {
  domain t in [0, 5]
  field u
  u_t == 1
  u == 0 at t = 0
  event far: u - 1 { u_t = 0 }
}
solve(driven())
