# An epidemic: the rates of a model are estimated from noisy counts, with
# gradients through the solver.

seed(4)
problem sir(β, γ) {
  domain t in [0, 60]
  field s, i
  s_t == -β*s*i
  i_t == β*s*i - γ*i
  s == 0.99 at t = 0
  i == 0.01 at t = 0
}

days = linspace(1.0, 60, 60)
infected(p) = map(solve(sir(p[0], p[1]), adams(), rtol = 1e-8, atol = 1e-10).i, days)
truth = [0.4, 0.1]
counts = infected(truth) + 0.005randn(60)

fit = least_squares(p -> (infected(p) - counts) / 0.005, [0.6, 0.2])
J = jacobian(infected)(fit.x) / 0.005
σ = sqrt(diag(inv(J' @ J)))
print(
  "β = {fit.x[0]:.4f} ± {σ[0]:.4f}, γ = {fit.x[1]:.4f} ± {σ[1]:.4f}, each case infects "
  "{fit.x[0] / fit.x[1]:.2f} others")
assert(all(abs(fit.x - truth) < 4σ))
overlay(
  plot(days, infected(fit.x), label = "model"),
  scatter(days, counts, label = "counts", colour = "red"), xlabel = "days",
  ylabel = "share of infected", file = "epidemic.png")
