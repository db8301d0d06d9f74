#! error E0505 7:1-7:48 "pinn() trains by \"auto\", \"lm\", \"gauss_newton_cg\""
problem decay() {
  domain t in [0, 1]
  field u; u_t == -u
  u == 1 at t = 0
}
solve(decay(), pinn((4,), 10; trainer = "sgd"))
