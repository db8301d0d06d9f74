#! error E0506 5:10-5:13 "the characteristic speeds of this system are not real, so that short waves grow without bound from t = 0 on: it is elliptic" second 7:13 "the values are given here"
problem p {
  domain t in [0, 1], x in [0, 1]
  field u, w
  u_t == w_x
  w_t == -u_x
  u == 0 at t = 0
  w == 0 at t = 0
  u == 0 at left
  w == 0 at right
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
