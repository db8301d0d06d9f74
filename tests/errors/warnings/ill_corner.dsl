#! warning W0521 7:3-7:25 "at x = 0, y = 0 two conditions meet that contradict each other: `u` is 1 by this one and 0 by the other" second 6:3 "the other one is here"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  Δ(u) == 1
  u == 0 at x = 0, x = 1
  u == 1 at y = 0, y = 1
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
