# Lorenz' equations: a trajectory, and the divergence of neighbouring ones.

problem lorenz(σ = 10.0, ρ = 28.0, β = 8/3; x0 = 1.0) {
  domain t in [0, 25]
  field x, y, z
  x_t == σ*(y - x)
  y_t == x*(ρ - z) - y
  z_t == x*y - β*z
  x == x0 at t = 0
  y == 0  at t = 0
  z == 0  at t = 0
}

s = solve(lorenz(), adams(), rtol = 1e-10, atol = 1e-12)
end = [s.x(10.0), s.y(10.0), s.z(10.0)]
print("at t = 10: {end}")
assert(norm(end - [-5.857685382424090, -5.831082486426100, 23.93213298702757]) < 1e-6)

# Two independent methods.
b = solve(lorenz(), bdf(), t = (0.0, 10.0), rtol = 1e-10, atol = 1e-12)
assert(abs(b.x(10.0) - s.x(10.0)) < 1e-4)

# An initial value that differs by 1e-8: the distance grows about like exp(0.9
# t).
r = solve(lorenz(; x0 = 1 + 1e-8), adams(), rtol = 1e-10, atol = 1e-12)
apart(t) = norm([s.x(t) - r.x(t), s.y(t) - r.y(t), s.z(t) - r.z(t)])
for t in [5.0, 15.0, 25.0] { print("t = {t:2g}: apart by {apart(t):.1e}") }
assert(apart(25.0) > 100 * 1e-8)

t = linspace(0.0, 25, 5000)
plot3(s.x(t), s.y(t), s.z(t), width = 0.8, xlabel = "x", ylabel = "y", zlabel = "z",
  title = "Lorenz' attractor", file = "lorenz.png")
