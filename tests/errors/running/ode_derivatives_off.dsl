#! warning W0701 10:8-10:40 "of itself, but with its derivatives by"
# a swing so small that its value is right, and so fast that its speed is not
problem swing {
  domain t in [0, 1]
  field u
  u_tt == -1e8*(u - 1)
  u == 1 at t = 0
  u_t == 1 at t = 0
}
print((solve(swing, bdf(); rtol = 1e-3).error > 0.3))
