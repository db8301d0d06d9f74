#! error E0507 7:19-7:22 "the solution is carried towards y = 1 and leaves there; the condition belongs at y = 0, where it enters" second 5:9 "the speed is 2"
problem p {
  domain t in [0, 1], (x, y) in box([0, 1], [0, 1])
  field u
  u_t + u_x + 2u_y == 0
  u == 0 at t = 0
  u == 0 at left, top
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
