# A price that follows dS = r S dt + σ S dW: the value of a call option as a
# mean over paths, its derivatives (the greeks) along the same paths, and
# Heston's model, where σ² is random as well.

S0 = 100.0
r = 0.03
strike = 105.0
T = 1.0
paths = 20000

# Geometric Brownian motion, final value; p = (initial price, σ).
final(p, seed) =
  sde((t, x) -> r * x, (t, x) -> p[1] * x, [p[0]], (0.0, T); method = sri(1/8), seed = seed,
    saveat = [T]).values[0, 0]
payoff(p, seed) = exp(-r * T) * max(final(p, seed) - strike, 0.0)
value(p) = mean(map(seed -> payoff(p, seed), iota(paths)))

# The Black–Scholes formula.
N(x) = 0.5 * (1 + erf(x / sqrt(2)))
exact(p) = {
  d = (log(p[0] / strike) + (r + p[1]^2 / 2) * T) / (p[1] * sqrt(T))
  p[0] * N(d) - strike * exp(-r * T) * N(d - p[1] * sqrt(T))
}
p = [S0, 0.2]
spread = std(map(seed -> payoff(p, seed), iota(paths))) / sqrt(paths)
print("call {value(p):.3f} ± {spread:.3f}, Black–Scholes {exact(p):.3f}")
assert(abs(value(p) - exact(p)) < 4 * spread)
(delta, vega) = (grad(value)(p)[0], grad(value)(p)[1])
print("delta {delta:.4f} ({grad(exact)(p)[0]:.4f}), vega {vega:.3f} ({grad(exact)(p)[1]:.3f})")
assert(abs(delta - grad(exact)(p)[0]) < 0.02 and abs(vega - grad(exact)(p)[1]) < 1.5)

# Heston: x = (log S, v), two Wiener processes with correlation ρ.
(κ, θ, ξ, ρ) = (2.0, 0.04, 0.3, -0.7)
drift(t, x) = { v = max(x[1], 0.0); [r - 0.5 * v, κ * (θ - v)] }
noise(t, x) = { s = sqrt(max(x[1], 1e-12)); [s, 0.0; ξ * ρ * s, ξ * sqrt(1 - ρ^2) * s] }
days = linspace(0.0, T, 257) # the ends of steps, so that no step is partial
heston(seed) =
  sde(drift, noise, [log(S0), 0.04], (0.0, T); method = euler_maruyama(1/256), seed = seed,
    saveat = days).values
some = map(heston, iota(2000));
# The discounted price is a martingale.
ends = exp(some[.., -1, 0] - r * T);
print("mean of the discounted price {mean(ends):.2f}")
assert(abs(mean(ends) - S0) < 4 * std(ends) / sqrt(2000))

prices = exp(some[.., .., 0]);
bands = quantile(prices, [0.05, 0.5, 0.95]; axis = 0);
a = overlay(fill_between(days, bands[0], bands[2], label = "5 % to 95 %"),
  plot(days, prices[..12]', width = 0.7),
  plot(days, bands[1], label = "median", colour = "black", width = 2), xlabel = "t", ylabel = "S",
  title = "Heston: paths and quantiles");
b = hist(prices[.., -1], density = true, xlabel = "S at t = 1", title = "Distribution at the end");
show(subplots(a, b, cols = 2), file = "options.png")
