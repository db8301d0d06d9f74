#! warning W0521 7:3-7:37 "at y = 1, x = 0 two conditions meet that contradict each other: `v[0]` is 0 by this one and 1 by the other" second 6:3 "the other one is here"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field v[2]
  Δ(v) == [0, 0]
  v == [1, 0] at y = 1
  v == [0, 0] at x = 0, x = 1, y = 0
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
