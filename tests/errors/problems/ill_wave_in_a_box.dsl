#! error E0506 5:3-5:7 "this is hyperbolic in x and y: conditions on all of the boundary do not determine a solution" hint "call the coordinate along which it goes on `t`, and give value and derivative where it begins"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  u_xx - u_yy == 1
  u == 0 at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
