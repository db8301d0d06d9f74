#! error E0501 3:20-3:21 "this is i64, not a region: box, disk, polygon and their kin make one"
problem p {
  domain (x, y) in 3
  field u
  Δ(u) == 1
  u == 0 at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
