#! error E0604 10:1 "events follow each other too closely at t = 12.850"
problem ball() {
  domain t in [0, 20]
  field h
  h_tt == -9.81
  h == 10 at t = 0
  h_t == 0 at t = 0
  event impact: h falling { h_t = -0.8*h_t }
}
solve(ball(), dop853(), rtol = 1e-9, atol = 1e-11)
