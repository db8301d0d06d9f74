#! error E0501 2:9-2:10 "the problem `p` has no field: there is nothing to solve for"
problem p {
  domain t in [0, 1]
  u_t == -u
}
