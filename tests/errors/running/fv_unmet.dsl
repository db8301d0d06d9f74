#! error E0604 10:1-10:25 "fv() cannot go on from t = 0.00113636: u is nan at x = 0.025. Its equation, or a condition at an end, has no value there that is a number"
problem unmet {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == 1 at t = 0
  u_x^2 == -1 at x = 0
  u == 1 at x = 1
}
solve(unmet, fv(n = 20));
