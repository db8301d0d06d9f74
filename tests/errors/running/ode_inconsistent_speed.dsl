#! error E0604 13:1 "initial values that are not consistent at t = 0: the time derivative of `x^2 + y^2 == 1` is off by 2; the equations of pendulum do not leave every initial value free"
problem pendulum() {
  domain t in [0, 1]
  field x, y, λ
  x_tt == -λ*x
  y_tt == -λ*y - 9.81
  x^2 + y^2 == 1
  x == 1 at t = 0
  x_t == 1 at t = 0
  y == 0 at t = 0
  y_t == 0 at t = 0
}
solve(pendulum(), dop853())
