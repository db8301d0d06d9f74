# inverse_burgers.dsl - the viscosity of Burgers' equation from noisy data.
#
# A set of data has 2,000 values of the exact solution (Cole 1951, Hopf 1950)
# with noise of 1 %. A hundred sets are fitted by finite differences, some of
# them also by a network. The program counts how often the 95 % interval has the
# true value. The problem is that of Raissi, Perdikaris and Karniadakis (2019).
problem burgers(ν = 0.02/π) {
  domain t in [0, 1], x in [-1, 1]
  field u
  u_t + u*u_x == ν*u_xx
  u == -sin(π*x) at t = 0
  u == 0         at x = -1, x = 1
}
truth = 0.01/π
cole_hopf(t, x) = {
  η = linspace(-1, 1, 2001) * (2.2 + 7*sqrt(4truth*t))
  y = x - η
  g = -cos(π*y)/(2π*truth) - η^2/(4truth*t)
  E = exp(g - max(g))
  -sum(sin(π*y)*E) / sum(E)
}
measured(k) = {
  seed(k)
  t = rand(2000)
  x = 2rand(2000) - 1
  u = map(cole_hopf, t, x)
  (t = t, x = x, u = u + 0.01*sqrt(mean(u^2))*randn(2000))
}
off(r) = (r.ν/truth - 1, r.std.ν/truth, r.lower.ν <= truth and truth <= r.upper.ν)

# The network gets `few` sets, finite differences `many`. With 601 points and
# order 8 the discretisation error is a thirtieth of the effect of the noise.
(few, many) = (20, 100)
try_(name, n, by) = {
  (errors, deviations, covered, seconds) = (zeros(n), zeros(n), 0, zeros(n))
  for k in 0..n {
    data = measured(k + 1)
    c = clock()
    (errors[k], deviations[k], inside) =
      off(fit(burgers, data; for = ν, by = by, rtol = 1e-6, atol = 1e-8, tol = 1e-5,
        progress = false))
    seconds[k] = clock() - c
    if inside { covered = covered + 1 }
    if n <= 10 {
      print(
        "  {name} set {k + 1}: off by {100*errors[k]:.2f} %, "
        "standard error {100*deviations[k]:.2f} %, {seconds[k]:.1f} s")
    }
  }
  within = sum(i64(abs(errors) <= 0.01))
  print(
    "{name}: in the interval of 95 % {covered} of {n}; within 1 % {within}; "
    "off by {100*mean(errors):.3f} % in the mean, "
    "{100*sqrt(mean(errors^2)):.2f} % in the mean square, "
    "standard errors {100*mean(deviations):.2f} %; median {sort(seconds)[n // 2]:.1f} s")
}
try_("pinn", few, pinn([20, 20, 20], 4096; steps = 80, refine = 20))
try_("fd", many, fd(n = 601, order = 8))
