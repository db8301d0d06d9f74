#! warning W0522 4:9-4:10 "`u` occurs in equations and conditions by its derivatives only: it is determined up to a constant, and there is a solution only if sources and flux balance" second 6:3 "this condition does not give its value" hint "a condition at one point fixes it: u == 0 at (0, 0)"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  -Δ(u) == x - 1/2
  ∂n(u) == 0 at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
