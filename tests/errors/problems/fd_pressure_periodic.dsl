#! error E0505 10:1-10:20 "`div(v) == 0` has no unknown without a rate in it, so that p follows only from its time derivative (index 2), and on one grid for all unknowns has modes that no equation sees: fem() serves this, and fourier() where it has constant factors"
problem flow {
  domain t in [0, 1], x in [0, 1] periodic, y in [0, 1] periodic
  field v[2], p
  v_t + v·grad(v) == -grad(p) + Δ(v)
  div(v) == 0
  v == [0, 1] at t = 0
  p == 0      at (0, 0)
}
solve(flow, fd(16)).p(1, 0, 0)
