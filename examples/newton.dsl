# Newton's method with exact derivatives: for a scalar equation, for a system,
# and differentiated itself.

newton(f, x; tol = 1e-14, steps = 50) = {
  for k in 0..steps {
    dx = f(x) / f'(x)
    x = x - dx
    if abs(dx) <= tol * abs(x) { break }
  }
  x
}

r = newton(x -> x^2 - 2, 1.0)
print("sqrt(2) = {r:.15g}")
assert(abs(r - sqrt(2)) < 1e-15)

# A system: F(x) = 0 with x a vector; the Jacobian comes from F.
newton_system(F, x; steps = 20) = {
  for k in 0..steps { x = x - linsolve(jacobian(F)(x), F(x)) }
  x
}

# The point where the circle of radius 2 meets the hyperbola xy = 1, in the
# upper right.
F(p) = [p[0]^2 + p[1]^2 - 4, p[0]*p[1] - 1]
p = newton_system(F, [2.0, 0.5])
print("circle and hyperbola meet at ({p[0]:.6f}, {p[1]:.6f})")
assert(norm(F(p)) < 1e-14)

# The root as a function of a parameter, and its derivative through the
# iteration: d sqrt(a)/da = 1/(2 sqrt(a)).
root(a) = newton(x -> x^2 - a, 1.0)
print("d sqrt(a)/da at 2 = {root'(2.0):.12g}")
assert(abs(root'(2.0) - 0.5/sqrt(2)) < 1e-12)

# The two curves, and where they meet.
θ = linspace(0.0, 2π, 200)
u = linspace(0.3, 3, 100)
overlay(
  plot(2cos(θ), 2sin(θ), aspect = 1, label = "x^2 + y^2 = 4"),
  plot(u, 1/u, label = "xy = 1", ylim = (-2.2, 3.4)),
  scatter([p[0], p[1]], [p[1], p[0]], label = "solutions", colour = "black"), xlabel = "x",
  ylabel = "y", file = "newton.png")
