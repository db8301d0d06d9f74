#! error E0503 10:13-10:17 "1 characteristic of this system enters at x = 0, which takes as many conditions there; there are 2" second 3:23 "`x` runs from 0 to 1"
problem p {
  domain t in [0, 1], x in [0, 1]
  field E, H
  E_t == -H_x
  H_t == -E_x
  E == 0 at t = 0
  H == 0 at t = 0
  E == 0 at boundary
  H == 0 at left
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
