#! warning W0522 4:15-4:16 "`p` occurs in equations and conditions by its derivatives only: it is determined up to a constant" hint "a condition at one point fixes it: p == 0 at (0, 0)"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field v[2], p
  -Δ(v) + grad(p) == [1, 0]
  div(v) == 0
  v == [0, 0] at boundary
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
