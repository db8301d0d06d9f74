#! error E0506 6:20-6:25 "this is hyperbolic: what happens at t = 1 follows from t = 0, and cannot be given" second 6:13 "the other condition is here" hint "give the value and the derivative by t at t = 0"
problem p {
  domain t in [0, 1], x in [0, 1]
  field u
  u_tt == u_xx
  u == 0 at t = 0, t = 1
  u == 0 at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
