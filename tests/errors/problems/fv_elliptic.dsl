#! error E0506 5:9-5:12 "the characteristic speeds of this system are not real, so that short waves grow without bound from t = 0 on: it is elliptic" second 7:21 "the values are given here"
problem mixed {
  domain t in [0, 1], x in [0, 1] periodic
  field p, v
  p_t + v_x == 0
  v_t - p_x == 0
  p == sin(2π*x) at t = 0
  v == 0 at t = 0
}
solve(mixed, fv(n = 10));
