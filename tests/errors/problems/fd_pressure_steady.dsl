#! error E0505 10:1-10:26 "`div(v) == 0` is kept by p, which is not in it (a saddle point), and on one grid for all unknowns p has modes that no equation sees: fem(order = 2) serves this"
problem lid {
  domain x in [0, 1], y in [0, 1]
  field v[2], p
  grad(p) == Δ(v)
  div(v) == 0
  v == [16x^2*(1 - x)^2, 0] at top
  v == [0, 0] at left, right, bottom
  p == 0      at (0, 0) }
solve(lid, chebyshev(12)).p
