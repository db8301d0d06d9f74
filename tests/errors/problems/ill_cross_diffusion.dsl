#! error E0506 5:10-5:14 "short waves of this system grow without bound from t = 0 on, whichever way it runs" second 7:13 "the values are given here"
problem p {
  domain t in [0, 1], x in [0, 1]
  field u, w
  u_t == u_xx + 3w_xx
  w_t == 3u_xx + w_xx
  u == 0 at t = 0
  w == 0 at t = 0
  u == 0 at boundary
  w == 0 at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
