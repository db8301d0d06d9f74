#! warning W0701 9:5-9:49 "the steps of cnab2() are 0.05 long, and something in the problem lasts 0.006: steps of less than 0.003 see it"
problem ring {
  domain t in [0, 1], x in [0, 2π] periodic
  field u
  u_t == u_xx + exp(-((t - 0.41)/0.001)^2)*sin(x)
  u == sin(x) at t = 0
}
# the step is given
s = solve(ring, fourier(16, time = cnab2(0.05)))
