#! error E0507 7:13-7:18 "the solution is carried towards x = 0 and leaves there; the condition belongs at x = 1, where it enters" second 5:11 "the speed is -3"
problem p {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == 3∂x(u) + u
  u == 0 at t = 0
  u == 0 at x = 0
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
