# The Fokker–Planck equation: the probability density of a particle that a
# spring pulls back to 0 and noise pushes about (Ornstein and Uhlenbeck 1930).
# The density stays normal, with mean exp(-t) and variance 1/2 - 0.4 exp(-2t).
# Its integral stays 1, since there is no flux through the ends.

problem spring {
  domain t in [0, 1], x in [-3.5, 3.5]
  field p
  p_t == ∂x(x*p + p_x/2)
  p == exp(-5*(x - 1)^2)/sqrt(0.2π) at t = 0
  x*p + p_x/2 == 0 at boundary
}

exact(t, x) = { v = 0.5 - 0.4*exp(-2t); exp(-(x - exp(-t))^2/(2v))/sqrt(2π*v) }
x = linspace(-3.5, 3.5, 201)
print("method       relative L2 error at t = 0.5, integral - 1 at t = 1")
for (how, bound) in ((fd(n = 201, order = 4), 1e-5), (chebyshev(n = 64), 1e-5),
  (fem(h = 1/25, order = 2), 1e-4), (fv(n = 200), 1e-2), (rfm(500), 1e-1),
  (pinn([12, 12], 500; steps = 40), 1e-1)) {
  s = solve(spring, how; rtol = 1e-8, atol = 1e-10, progress = false)
  error = norm(s.p(0.5, x) - exact(0.5, x))/norm(exact(0.5, x))
  print("{s.method:-12s} {error:.1e} {trapz(s.p(1.0, x), x) - 1:.1e}")
  assert(error < bound)
}

s = solve(spring, fem(h = 1/25, order = 2); rtol = 1e-7)
times = (0.0, 0.1, 0.3, 1.0)
plot(x, stack(...map(t -> s.p(t, x), times); axis = 1),
  labels = list(...map(t -> "t = {t}", times)), title = "a particle on a spring, pushed by noise",
  xlabel = "x", ylabel = "density", file = "fokker_planck.png")
