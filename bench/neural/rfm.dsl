# rfm.dsl - linear problems by random features: error and seconds of five seeds.
#
# The method chooses the bandwidths.
median5(v) = sort(v)[2]

measure(name, target, p, exact, points; features = 0) = {
  errors = zeros(5)
  times = zeros(5)
  for k in 0..5 {
    t = clock()
    s = solve(p, rfm(features, seed = k + 1))
    times[k] = clock() - t
    y = exact(...points)
    errors[k] = norm(s.u(...points) - y) / norm(y)
    print(
      "  {name} seed {k + 1}: {s.stats.features} features, bandwidth {s.bandwidth}, "
      "error {errors[k]:.2e} (estimate {s.error:.1e}), {times[k]:.3f} s")
  }
  print(
    "{name}: median error {median5(errors):.2e}, worst {max(errors):.2e}; "
    "median {median5(times):.3f} s, with compilation {times[0]:.3f} s; target {target}")
}

problem poisson() {
  domain x in [0, 1], y in [0, 1]
  field u
  u_xx + u_yy == -2π^2*sin(π*x)*sin(π*y)
  u == 0 at x = 0, x = 1, y = 0, y = 1
}
problem heat() {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == 0.25u_xx
  u == sin(π*x) at t = 0
  u == 0 at x = 0, x = 1
}
problem multiscale() {
  domain x in [0, 1]
  field u
  u_xx == -4π^2*sin(2π*x) - 250π^2*sin(50π*x)
  u == 0 at x = 0, x = 1
}
problem wave() {
  domain t in [0, 1], x in [0, 1]
  field u
  u_tt == 4u_xx
  u == sin(π*x) + 0.5sin(4π*x) at t = 0
  u_t == 0 at t = 0
  u == 0 at x = 0, x = 1
}
problem advection() {
  domain t in [0, 1], x in [0, 2π] periodic
  field u
  u_t + 100u_x == 0
  u == sin(x) at t = 0
}
problem helmholtz() {
  domain x in [-1, 1], y in [-1, 1]
  field u
  u_xx + u_yy + u == (1 - 32π^2)*sin(4π*x)*sin(4π*y)
  u == 0 at x = -1, x = 1, y = -1, y = 1
}
problem poisson5() {
  domain v in [0, 1], w in [0, 1], x in [0, 1], y in [0, 1], z in [0, 1]
  field u
  s = sin(π*v/2) + sin(π*w/2) + sin(π*x/2) + sin(π*y/2) + sin(π*z/2)
  u_vv + u_ww + u_xx + u_yy + u_zz == -π^2/4*s
  u == s at v = 0, v = 1, w = 0, w = 1, x = 0, x = 1, y = 0, y = 1, z = 0, z = 1
}

r = linspace(0, 1, 101)
plane = (expand(r, 1), r)
measure("Poisson 2-D", "1e-12 in 0.1 s", poisson(), (x, y) -> sin(π*x)*sin(π*y), plane)
measure("heat", "1e-12 in 0.1 s", heat(), (t, x) -> exp(-0.25π^2*t)*sin(π*x), plane)
measure("multiscale Poisson 1-D", "1e-12 in 0.1 s", multiscale(), (x,) -> sin(2π*x) + 0.1sin(50π*x),
  (linspace(0, 1, 1001),))
measure("wave 1d-C", "2e-11 in 0.3 s", wave(), (t, x) -> sin(π*x)*cos(2π*t) +
  0.5sin(4π*x)*cos(8π*t), plane)
measure("advection c = 100", "1e-10 in 0.2 s", advection(), (t, x) -> sin(x - 100t),
  (expand(r, 1), 2π*r))
measure("Helmholtz (4,4)", "1e-9 in 0.4 s", helmholtz(), (x, y) -> sin(4π*x)*sin(4π*y),
  (2expand(r, 1) - 1, 2r - 1))
p = 0.5 + 0.5sin(expand(1.0 + iota(5), 1) * (1.0 + iota(2000))^2)
measure("Poisson 5-D", "1e-7 in 1 s", poisson5(), (v, w, x, y, z) -> sin(π*v/2) + sin(π*w/2) +
  sin(π*x/2) + sin(π*y/2) + sin(π*z/2), (p[0], p[1], p[2], p[3], p[4]))
