#! error E0504 5:3-5:8 "∂n is a derivative along the outer normal, which there is on a boundary only"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  ∂n(u) + Δ(u) == 1
  u == 0 at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
