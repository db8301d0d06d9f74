#! error E0505 9:1-9:26 "dop853() wants every time derivative by itself, as in u_t == ...: solve linked with bdf(), which takes it as it is written"
problem linked() {
  domain t in [0, 2]
  field a, b
  a_t == -2 * b
  0 == b - a
  a == 1 at t = 0
}
solve(linked(), dop853())
