#! error E0502 2:9-2:10 "1 unknown component and 2 scalar equations in `p`" second 5:3 "this counts for 2"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  Δ(u) == grad(u)
  u == 0 at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
