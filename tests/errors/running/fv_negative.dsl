#! error E0604 12:1-12:64 "fv() cannot go on from t = 0.00266667: speeds of waves are no real numbers there any more. A density or pressure has become negative, most likely, or there are no waves between two states: take reconstruct = \"muscl\" or \"first\", or say what must stay above 0 with positive = ..."
problem vacuum {
  domain t in [0, 1], x in [-1, 1]
  field h, q
  h_t + ∂x(q) == 0
  q_t + ∂x(q^2/h + h^2/2) == 0
  h == 1 at t = 0
  q == if x < 0 { -5 } else { 5 } at t = 0
  h_x == 0 at x = -1, x = 1
  q_x == 0 at x = -1, x = 1
}
solve(vacuum, fv(n = 100, flux = "roe", reconstruct = "weno5"));
