#! error E0302 6:3-6:29 "cannot subtract f64[2] and i64[3]"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field v[2]
  Δ(v) == [1, 0]
  v == [0, 0, 0] at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
