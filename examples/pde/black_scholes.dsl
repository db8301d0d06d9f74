# The Black–Scholes equation: the price of the right to buy a share for 1 at a
# fixed time, for volatility 0.3 and interest 0.05; t is the time left. The
# payoff has a kink. Smooth bases (sums of sines, Chebyshev polynomials)
# converge slowly for it; fd() concentrates points there. The exact solution is
# the closed form of Black and Scholes (1973).

problem call(σ = 0.3, r = 0.05) {
  domain t in [0, 1], x in [0, 4]
  field V
  V_t == σ^2*x^2/2*V_xx + r*x*V_x - r*V
  V == max(x - 1, 0) at t = 0
  V == 0             at x = 0
  V == x - exp(-r*t) at x = 4
}

normal(z) = (1 + erf(z/sqrt(2)))/2
price(t, x) =
  { d = (log(x) + 0.095*t)/(0.3*sqrt(t)); x*normal(d) - exp(-0.05t)*normal(d - 0.3*sqrt(t)) }
x = linspace(0.1, 3, 101)
print("method       relative L2 error at t = 1")
for (how, bound) in ((fd(n = 201, order = 2), 1e-4),
  (fd(n = 201, order = 4; cluster = (1.0, 0.2)), 1e-5), (chebyshev(n = 64), 1e-3),
  (fem(h = 1/25, order = 2), 1e-4), (fv(n = 200), 1e-4), (rfm(400), 1e-1),
  (pinn([12, 12], 500; steps = 40), 1e-1)) {
  s = solve(call(), how; rtol = 1e-8, atol = 1e-10, progress = false)
  error = norm(s.V(1.0, x) - price(1.0, x))/norm(price(1.0, x))
  print("{s.method:-12s} {error:.1e}")
  assert(error < bound)
}

s = solve(call(), fd(n = 201, order = 4; cluster = (1.0, 0.2)))
x = linspace(0, 2, 201)
times = (0.0, 0.1, 0.3, 1.0)
plot(x, stack(...map(t -> s.V(t, x), times); axis = 1),
  labels = list(...map(t -> "{t} left", times)), title = "the price of a call",
  xlabel = "price of the share", ylabel = "price of the right", legend = "top left",
  file = "black_scholes.png")
