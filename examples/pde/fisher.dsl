# Fisher's equation: growth and diffusion, of a gene or a flame, make a wave
# that keeps its shape and speed. For the speed 5/√6 the wave has a closed form
# (M. Ablowitz and A. Zeppetella, Bull. Math. Biol. 41, 1979), which also
# provides the boundary values. fourier() needs a period.

wave(t, x) = 1/(1 + exp((x - 5t/sqrt(6))/sqrt(6)))^2
problem fisher {
  domain t in [0, 4], x in [-10, 20]
  field u
  u_t == u_xx + u*(1 - u)
  u == wave(0, x) at t = 0
  u == wave(t, x) at boundary
}

x = linspace(-10, 20, 201)
times = [1.0, 2.0, 4.0]
exact = map(t -> wave(t, x), times)
methods = (fd(n = 201), chebyshev(n = 48), fem(h = 0.2, order = 2), fv(n = 200), rfm(300),
  pinn([16], 600; steps = 40))
print("method        error")
for (how, bound) in zip(methods, (1e-6, 1e-6, 1e-5, 1e-3, 1e-3, 1e-2)) {
  s = solve(fisher, how; rtol = 1e-7, atol = 1e-9)
  off = norm(map(t -> s.u(t, x), times) - exact)/norm(exact)
  print("{s.method:-10s} {off:8.1e}")
  assert(off < bound)
}
s = solve(fisher, chebyshev(n = 48))
plot(s, times = [0.0, 1.0, 2.0, 3.0, 4.0], title = "a wave of advance", dpi = 100,
  file = "fisher.png")
