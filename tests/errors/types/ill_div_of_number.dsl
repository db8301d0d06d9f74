#! error E0302 5:3-5:9 "div takes a vector with a component for each of the 2 space coordinates; this is a number"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  div(u) == Δ(u)
  u == 0 at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
