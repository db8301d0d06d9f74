#! error E0506 5:3-5:7 "this is hyperbolic in x and y: conditions on all of the boundary do not determine a solution"
problem skew(b) {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  u_xx + b*∂x(∂y(u)) + u_yy == 1
  u == 0 at boundary
}
solve(skew(2.1))
