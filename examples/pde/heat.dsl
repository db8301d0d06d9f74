# Heat in a rod: two modes of temperature decay, the shorter one sixteen times
# as fast, so that soon only the longer one is left. The rod of length 2 is kept
# at 0 at both ends. The exact solution, by separation of variables, is u =
# exp(-π² t/4) sin(πx/2) + exp(-4π² t)/2 sin(2πx).

problem heat {
  domain t in [0, 0.2], x in [0, 2]
  field u
  u_t == u_xx
  u == sin(π*x/2) + sin(2π*x)/2 at t = 0
  u == 0                        at boundary
}

exact(t, x) = exp(-π^2*t/4)*sin(π*x/2) + exp(-4π^2*t)/2*sin(2π*x)
x = linspace(0, 2, 101)
t = 0.05
print("method       relative L2 error at t = 0.05")
for (how, bound) in ((fd(n = 81, order = 4), 1e-4), (chebyshev(n = 24), 1e-6),
  (fem(h = 1/20, order = 2), 1e-3), (rfm(), 1e-10), (pinn([12, 12], 300; steps = 40), 1e-3)) {
  s = solve(heat, how; rtol = 1e-8, atol = 1e-10, progress = false)
  error = norm(s.u(t, x) - exact(t, x))/norm(exact(t, x))
  print("{s.method:-12s} {error:.1e}")
  assert(error < bound)
}

s = solve(heat, chebyshev(n = 24))
times = (0.0, 0.01, 0.03, 0.07, 0.2)
plot(x, stack(...map(t -> s.u(t, x), times); axis = 1),
  labels = list(...map(t -> "t = {t}", times)), title = "a short wave dies first", xlabel = "x",
  ylabel = "temperature", file = "heat.png")
