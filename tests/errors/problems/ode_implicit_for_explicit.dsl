#! error E0505 8:1 "dop853() wants every time derivative by itself, as in u_t == ...: solve squared with bdf(), which takes it as it is written"
problem squared() {
  domain t in [0, 1]
  field u
  u_t^2 == u
  u == 1 at t = 0
}
solve(squared(), dop853())
