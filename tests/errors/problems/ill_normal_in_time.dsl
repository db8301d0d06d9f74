#! error E0504 6:3-6:8 "∂n is a derivative along the outer normal, which there is on a boundary only"
problem p {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  ∂n(u) == 0 at t = 0
  u == 0 at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
