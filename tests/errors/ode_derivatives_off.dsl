#! warning W0701 10:8-10:32 "of itself, but with its derivatives by"
# a field that jumps a little too late is right all the same, and its derivative is not there at all
problem relaxation {
  domain t in [0, 2000]
  field y
  y_tt == 1000*(1 - y^2)*y_t - y
  y == 2 at t = 0
  y_t == 0 at t = 0
}
print((solve(relaxation, bdf()).error > 1))
