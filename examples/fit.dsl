# Non-linear least squares: a damped oscillation seen through noise, and how well its parameters are known.

seed(3)
model(p, t) = p.a * exp(-p.k * t) * cos(p.ω * t)
truth = (a = 2.0, k = 0.3, ω = 4.0)

t = linspace(0, 6, 120)
noise = 0.05
y = model(truth, t) + noise * randn(120)

# the residuals as a function of a vector; `back` gives the record again
(v0, back) = flatten((a = 1.0, k = 0.1, ω = 3.8))
r(v) = (model(back(v), t) - y) / noise
fit = least_squares(r, v0, steps = 100)
p = back(fit.x)

# covariance from the Jacobian at the minimum
J = jacobian(r)(fit.x)
σ = sqrt(diag(inv(J' @ J)))
print("a = {p.a:.3f} ± {σ[0]:.3f}   k = {p.k:.3f} ± {σ[1]:.3f}   ω = {p.ω:.3f} ± {σ[2]:.3f}")

assert(norm(grad(v -> 0.5 * sum(r(v)^2))(fit.x)) < 1e-3, "not a minimum")
assert(all(abs(fit.x - [truth.a, truth.k, truth.ω]) < 4σ), "the fit is far from the truth")

fine = linspace(0.0, 6, 400)
overlay(
  plot(fine, model(p, fine), label = "fit"), errorbars(t, y, noise, label = "data", colour = "red", width = 4),
  xlabel = "t", title = "a = {p.a:.3f}, k = {p.k:.3f}, ω = {p.ω:.3f}", file = "fit.png")
