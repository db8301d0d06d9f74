# compare() on solutions by networks, one trained well and one hardly trained.
# As users run it only: compiling all of it takes long.
problem layer() {
  domain t in [0, 0.5], x in [0, 1]
  field u
  u_t + u_x == 0.1*u_xx + 2*u*(1 - u)
  u == 1 - x at t = 0
  u == 1 at x = 0
  u == 0 at x = 1
}
compare(layer(), solve(layer(), pinn(hidden = [16, 16], points = 600, steps = 80))).agree     #> true
compare(layer(), solve(layer(), pinn(hidden = [16, 16], points = 600, steps = 3))).agree      #> false
