#! error E0506 5:11-5:15 "with this sign short waves grow without bound from t = 0 on: the problem runs backwards" second 6:20 "the values are given here" hint "change the sign, or give the values at t = 1"
problem p {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == -u_xx
  u == sin(π*x) at t = 0
  u == 0 at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
