#! error E0503 5:11-5:14 "1 characteristic of this system enters at x = 1, which takes as many conditions there; there are 0" second 3:23 "`x` runs from 0 to 1"
problem p {
  domain t in [0, 1], x in [0, 1]
  field E, H
  E_t == -H_x
  H_t == -E_x
  E == 0 at t = 0
  H == 0 at t = 0
  E == 0 at left
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
