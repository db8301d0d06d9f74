#! error E0507 7:27-7:32 "the solution is carried towards z = 1 and leaves there; the condition belongs at z = 0, where it enters" second 5:9 "the speed is 3"
problem p {
  domain t in [0, 1], (x, y, z) in box([0, 1], [0, 1], [0, 1])
  field u
  u_t + [1, 2, 3]·grad(u) == 0
  u == 0 at t = 0
  u == 0 at left, bottom, front
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
