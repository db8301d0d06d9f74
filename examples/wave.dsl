# A free quantum wave packet: i ψ_t = -ψ_xx/2 as two real equations, compared
# with the exact solution.

problem packet(k = 1.0) {
  domain t in [0, 1], x in [-10, 10] periodic
  field a, b                                  # ψ = a + ib
  a_t == -0.5 * b_xx
  b_t ==  0.5 * a_xx
  a == exp(-x^2/2) * cos(k*x) at t = 0
  b == exp(-x^2/2) * sin(k*x) at t = 0
}

# |ψ|² of a Gaussian that moves with velocity k and spreads.
density(t, x; k = 1.0) = exp(-(x - k*t)^2 / (1 + t^2)) / sqrt(1 + t^2)

s = solve(packet(), fourier(n = 64), rtol = 1e-7, atol = 1e-9)
x = linspace(-8, 8, 161)
ρ(t) = s.a(t, x)^2 + s.b(t, x)^2
error = max(abs(ρ(1.0) - density(1.0, x)))
print("largest error of |ψ|² at t = 1: {error:.1e}; {s.stats.steps} steps")
assert(error < 1e-4)

total(t) = trapz(ρ(t), x)
mean_x(t) = trapz(x * ρ(t), x) / total(t)
print(
  "probability {total(0.0)/sqrt(π):.6f} -> {total(1.0)/sqrt(π):.6f}, mean position "
  "{mean_x(0.0):.4f} -> {mean_x(1.0):.4f}")
assert(abs(total(1.0)/total(0.0) - 1) < 1e-4 and abs(mean_x(1.0) - 1) < 1e-3)

overlay(
  plot(x, ρ(0.0), ρ(0.5), ρ(1.0), labels = list("t = 0", "t = 0.5", "t = 1")),
  scatter(x[.. by 8], density(1.0, x[.. by 8]), label = "exact", colour = "black", width = 6),
  xlabel = "x", ylabel = "|ψ|^2", file = "wave.png")
