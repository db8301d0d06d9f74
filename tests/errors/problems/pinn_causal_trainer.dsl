#! error E0505 8:1-8:55 "pinn(causal = true) is of the trainers \"lm\" and \"gauss_newton_cg\""
problem decay {
  domain t in [0, 1]
  field u
  u_t == -u
  u == 1 at t = 0
}
solve(decay, pinn(; causal = true, trainer = "lbfgs"))
