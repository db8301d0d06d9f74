#! error E0302 5:12-5:18 "div takes a vector with a component for each of the 2 space coordinates; this is f64[3]"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field v[3]
  Δ(v) == [div(v), 0, 0]
  v == [0, 0, 0] at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
