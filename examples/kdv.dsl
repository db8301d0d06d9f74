# A soliton of the Korteweg-de Vries equation keeps its shape. The problem is
# periodic in x, so the derivatives come from a Fourier series.

c = 4.0
soliton(t, x) = 0.5c / cosh(0.5 * sqrt(c) * (x - c*t))^2

problem kdv() {
  domain t in [0, 1], x in [-15, 15] periodic
  field u
  u_t + 6u*u_x + u_xxx == 0
  u == soliton(0, x + 2) at t = 0
}

s = solve(kdv(), fourier(n = 96), rtol = 1e-8, atol = 1e-9)
x = linspace(-15, 15, 201)
error = max(abs(s.u(1.0, x) - soliton(1.0, x + 2)))
print(
  "after t = 1 the soliton has moved by {c} and changed by {error:.1e}, in {s.stats.steps} steps")
assert(error < 1e-3)

# Mass and momentum are conserved; on a period the trapezoidal rule is accurate
# to many digits.
y = linspace(-15, 15, 193)
mass(t) = trapz(s.u(t, y), y)
momentum(t) = trapz(s.u(t, y)^2, y)
print(
  "mass {mass(0.0):.6f} -> {mass(1.0):.6f}, momentum {momentum(0.0):.6f} -> {momentum(1.0):.6f}")
assert(abs(mass(1.0) - mass(0.0)) < 1e-5 and abs(momentum(1.0) - momentum(0.0)) < 1e-4)

heatmap(s, title = "a soliton", file = "kdv.png")
