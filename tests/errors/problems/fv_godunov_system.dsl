#! error E0505 10:1-10:42 "fv(flux = \"godunov\") is for one unknown, and here are 2; take \"hll\", \"roe\" or \"rusanov\""
problem pair {
  domain t in [0, 1], x in [0, 1] periodic
  field p, v
  p_t + v_x == 0
  v_t + p_x == 0
  p == sin(2π*x) at t = 0
  v == 0 at t = 0
}
solve(pair, fv(n = 10, flux = "godunov"));
