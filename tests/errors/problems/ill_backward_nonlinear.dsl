#! error E0506 5:9-5:22 "with this sign short waves grow without bound from t = 0 on: the problem runs backwards" second 6:24 "the values are given here" hint "change the sign, or give the values at t = 1"
problem p {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t + ∂x(u^2*∂x(u)) == 0
  u == 2 + sin(π*x) at t = 0
  u == 2 at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
