#! error E0501 4:11-4:12 "a field has at least one component"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field v[0]
  Δ(v) == v
  v == 0 at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
