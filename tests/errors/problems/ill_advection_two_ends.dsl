#! error E0507 7:13-7:21 "the solution is carried towards x = 1 and leaves there; the condition belongs at x = 0, where it enters" second 5:9 "the speed is 1"
problem p {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t + u_x == 0
  u == 0 at t = 0
  u == 0 at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
