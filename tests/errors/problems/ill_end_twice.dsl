#! error E0503 10:15-10:19 "`E` is first order in x and takes 1 condition at an end; there are 2 at x = 0"
problem p {
  domain t in [0, 1], x in [0, 1]
  field E, H
  E_t == -H_x
  H_t == -E_x
  E == 0 at t = 0
  H == 0 at t = 0
  E == 0 at left
  E_x == 0 at left
}
