#! error E0506 5:10-5:14 "this is elliptic in t and x, and conditions at t = 0 alone (Cauchy's problem) leave short waves that grow without bound" second 6:20 "the values are given here" hint "give a condition at each of t = 0 and t = 1"
problem p {
  domain t in [0, 1], x in [0, 1]
  field u
  u_tt + u_xx == 0
  u == sin(π*x) at t = 0
  u_t == 0 at t = 0
  u == 0 at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
