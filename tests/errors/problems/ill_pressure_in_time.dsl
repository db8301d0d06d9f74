#! error E0503 8:13-8:18 "`p` has no derivative in t and takes no condition there"
problem p {
  domain t in [0, 1], (x, y) in box([0, 1], [0, 1])
  field v[2], p
  v_t + v·grad(v) == -grad(p) + Δ(v)
  div(v) == 0
  v == [0, 0] at t = 0
  p == 0 at t = 0
  v == [0, 0] at boundary
}
