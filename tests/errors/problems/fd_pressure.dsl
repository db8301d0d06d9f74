#! error E0505 12:1-12:21 "`div(v) == 0` has no unknown without a rate in it, so that p follows only from its time derivative (index 2), and on one grid for all unknowns has modes that no equation sees: fem() serves this"
problem walls {
  domain t in [0, 1], x in [0, 1], y in [0, 1]
  field v[2], p
  v_t == -grad(p) + Δ(v)
  div(v) == 0
  v == [0, 0] at t = 0
  v == [t*x*(1 - x), 0] at y = 1
  v == [0, 0] at x = 0, x = 1, y = 0
  p == 0      at (0, 0)
}
solve(walls, fd(21))
