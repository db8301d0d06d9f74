#! error E0502 2:9-2:10 "2 unknown components and 1 scalar equation in `p`"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field v[2]
  Δ(v[0]) == 1
  v == [0, 0] at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
