#! error E0604 10:5-10:45 "pinn(), after 0 steps of training: `T_t == T_rr + log(r - 0.2)*T` is no finite number at t = 0.127439, r = 0.0698403"
problem disk {
  domain t in [0, 0.5], r in [0, 1]
  field T
  T_t == T_rr + log(r - 0.2)*T
  T == 1 - r^2 at t = 0
  T_r == 0 at r = 0
  T == 0 at r = 1
}
s = solve(disk, pinn([12], 300; steps = 30)).T(0.5, 0.5)
