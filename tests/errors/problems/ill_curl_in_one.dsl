#! error E0504 5:3-5:10 "curl needs two or three space coordinates; there is 1"
problem p {
  domain x in [0, 1]
  field u
  curl(u) + u_xx == 1
  u == 0 at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
