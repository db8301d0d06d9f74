# Rosenbrock's function: gradient, Hessian, and three ways to its minimum at (1,
# 1, ..., 1).

rosen(x) = sum(100(x[1..] - x[..-1]^2)^2 + (1 - x[..-1])^2)

x = [1.2, 1, 0.9]
print("gradient {grad(rosen)(x)}")
H = hessian(rosen)(x)
assert(same(H, H'))

# A product with the Hessian without forming it.
v = [1.0, -1, 2]
assert(norm(hvp(rosen, x, v) - H @ v) < 1e-9)

# Every mode of differentiation compared with the others and with differences.
c = check_grad(rosen, x)
assert(c.reverse_forward < 1e-14 and c.differences < 1e-8)

# L-BFGS from a bad start, ten variables.
a = minimize(rosen, zeros(10) - 1.2, steps = 500)
print("L-BFGS: {a.iterations} steps to {a.value:.1e}")
assert(norm(a.x - 1) < 1e-6)

# Newton's method with the exact Hessian.
y = zeros(10) + 0.5
for k in 0..30 { y = y - linsolve(hessian(rosen)(y), grad(rosen)(y)) }
print("Newton: gradient {norm(grad(rosen)(y)):.1e}")
assert(norm(grad(rosen)(y)) < 1e-10)

# The same function as a sum of squares, by Levenberg-Marquardt.
r(x) = concat(10(x[1..] - x[..-1]^2), 1 - x[..-1])
b = least_squares(r, zeros(10) - 1.2, steps = 200, tol = 1e-24)
print("Levenberg-Marquardt: {b.iterations} steps to {b.value:.1e}")
assert(norm(b.x - 1) < 1e-8)

# The valley of two variables, on a logarithmic scale.
p = linspace(-1.6, 1.6, 161)
q = linspace(-0.8, 2, 141)
overlay(
  contourf(p, q, (x, y) -> log10(rosen([x, y]) + 1e-3), levels = 12, map = "viridis",
    zlabel = "log_10 f"),
  scatter([1.0], [1.0], colour = "red", label = "minimum", width = 9), xlabel = "x_0",
  ylabel = "x_1", file = "rosenbrock.png")
