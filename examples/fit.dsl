# Nonlinear least squares: a damped oscillation with noise, and the standard
# errors of its parameters.

seed(3)
model(p, t) = p.a * exp(-p.k * t) * cos(p.ω * t)
truth = (a = 2.0, k = 0.3, ω = 4.0)

t = linspace(0, 6, 120)
noise = 0.05
y = model(truth, t) + noise * randn(120)

f = fit(model, t, y, (a = 1.0, k = 0.1, ω = 3.8); sigma = noise)
print(report(f))

# The gradient vanishes, and the true values are within four standard errors.
assert(f.converged, f.message)
for (p, q, σ) in zip(values(f.p), values(truth), values(f.stderr)) {
  assert(abs(p - q) < 4σ, "the fit is far from the truth")
}

fine = linspace(0.0, 6, 400)
overlay(
  plot(fine, f.value(fine), label = "fit"),
  errorbars(t, y, noise, label = "data", colour = "red", width = 4), xlabel = "t", ylabel = "y",
  title = "a = {f.p.a:.3f}, k = {f.p.k:.3f}, ω = {f.p.ω:.3f}", file = "fit.png")
