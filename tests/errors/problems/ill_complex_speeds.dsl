#! error E0506 5:9-5:14 "the characteristic speeds of this system are not real, so that short waves grow without bound from t = 0 on: it is elliptic" second 7:13 "the values are given here"
problem p {
  domain t in [0, 1], x in [0, 1] periodic
  field h, m
  h_t + ∂x(m) == 0
  m_t + ∂x(m^2/h - h^2) == 0
  h == 1 at t = 0
  m == 1 at t = 0
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
