# Fitting parameters together with the weights of a network: fit(problem, data;
# by = pinn(...)).
# As users run it only: compiling all of it takes long.

problem diffusion(D = 0.1, v = 0.0) {
  domain t in [0, 1], x in [-1, 1]
  field u
  u_t + v*u_x == D*u_xx
  u == (1 - x^2)*exp(-4(x + 0.3)^2) at t = 0
  u == 0 at x = -1, x = 1
}
seed(2)
exact = solve(diffusion(0.05, 0.4), chebyshev(60), rtol = 1e-9, atol = 1e-11);
t = rand(100)
x = 2rand(100) - 1
clean = (t = t, x = x, u = exact.u(t, x))
data = (...clean, u = clean.u + 0.01randn(100))
net = pinn((16,), 400; steps = 80, refine = 0)

# without noise, the parameters are as accurate as the network
r = fit(diffusion, clean; for = (D, v), by = net, progress = false)
assert(abs(r.D/0.05 - 1) < 2e-3 and abs(r.v/0.4 - 1) < 2e-3, "{r.p}")
assert(abs(r.solution.u(0.5, -0.2) - exact.u(0.5, -0.2)) < 1e-3, "{r.solution.u(0.5, -0.2) - exact.u(0.5, -0.2)}")
keys(r.p)                     #> ("D", "v")

# With noise: the same parameters and standard errors as with a classical
# method, to within the uncertainty.
q = fit(diffusion, data; for = (D, v), by = chebyshev(30), progress = false)
n = fit(diffusion, data; for = (D, v), by = net, progress = false)
assert(abs(n.D - q.D) < 0.5q.std.D and abs(n.v - q.v) < 0.5q.std.v, "{n.p} {q.p}")
assert(abs(n.std.D / q.std.D - 1) < 0.15 and abs(n.std.v / q.std.v - 1) < 0.15, "{n.std} {q.std}")
assert(abs(n.correlation[0, 1] - q.correlation[0, 1]) < 0.1, "{n.correlation[0, 1]} {q.correlation[0, 1]}")
assert(abs(n.deviation / q.deviation - 1) < 0.05, "{n.deviation} {q.deviation}")
at = ([0.3, 0.6], [0.1, 0.2])
assert(max(abs(n.band(at) / q.band(at) - 1)) < 0.2, "{n.band(at)} {q.band(at)}")
assert(max(abs(n.value(at) - q.value(at))) < 3e-3, "{n.value(at)} {q.value(at)}")
n.identifiability.undetermined    #> 0

# Undetermined combinations are reported: only the product is identifiable.
problem twice(a = 0.2, b = 0.3) {
  domain t in [0, 1], x in [-1, 1]
  field u
  u_t == a*b*u_xx
  u == cos(π*x/2) at t = 0
  u == 0 at x = -1, x = 1
}
k = fit(twice, (t = t, x = x, u = exp(-0.05*(π/2)^2*t)*cos(π*x/2)); by = pinn((10,), 200; steps = 40), progress = false)
assert(abs(k.a*k.b/0.05 - 1) < 1e-3, "{k.p}")
k.identifiability.undetermined    #> 1
assert(k.std.a == inf and k.std.b == inf, "{k.std}")

# With conjugate gradients (matrix-free): the same combination is fitted, and
# the same one is undetermined.
g = fit(twice, (t = t, x = x, u = exp(-0.05*(π/2)^2*t)*cos(π*x/2)); by = pinn((10,), 200; steps = 40, trainer = "gauss_newton_cg"), progress = false)
assert(abs(g.a*g.b/0.05 - 1) < 2e-3, "{g.p}")
g.identifiability.undetermined    #> 1
