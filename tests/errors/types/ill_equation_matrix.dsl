#! error E0302 5:3-5:20 "an equation is between numbers or between vectors, not between arrays with 2 axes"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field v[2]
  Δ(v)*grad(v) == 0
  v == [0, 0] at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
