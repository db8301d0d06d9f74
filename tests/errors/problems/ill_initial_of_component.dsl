#! error E0503 5:3-5:6 "this is first order in t and needs 1 initial condition for `v[1]`; there are 0" hint "write v[1] == ... at t = 0"
problem p {
  domain t in [0, 1], x in [0, 1]
  field v[2]
  v_t == Δ(v)
  v[0] == 0 at t = 0
  v == [0, 0] at boundary
}
