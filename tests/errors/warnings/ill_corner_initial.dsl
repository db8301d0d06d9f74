#! warning W0521 7:3-7:21 "at t = 0, x = 0 two conditions meet that contradict each other: `u` is 0 by this one and 1 by the other" second 6:3 "the other one is here"
problem p {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == 1 at t = 0
  u == 0 at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
