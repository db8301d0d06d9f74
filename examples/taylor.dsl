# High derivatives by Taylor expansion: one propagation computes all of them, at
# a cost that grows with the square of the order.

f(x) = exp(sin(x))

# The coefficients of f(0.3 + s) up to s^10.
c = taylor(f, 0.3, 10)
print("f, f', f''/2, ... at 0.3: {c[..4]}")

# The series equals the function: compare at s = 0.2.
s = 0.2
series = sum(c[k] * s^k for k in 0..11)
print("series {series:.12f}, function {f(0.3 + s):.12f}")
assert(abs(series - f(0.3 + s)) < 1e-10)

# The second coefficient is half the second derivative, as nested
# differentiation confirms.
assert(abs(2 * c[2] - f''(0.3)) < 1e-14)

# The derivatives of sin at 0 are 0, 1, 0, -1, ...
for n in (1, 3, 5, 7) {
  assert(abs(nth_derivative(sin, 0.0, n) - where(n % 4 == 1, 1.0, -1.0)) < 1e-12)
}

# Operation counts: all coefficients up to the tenth, relative to the function
# itself.
ratio = cost(x -> taylor(f, x, 10), 0.3) / cost(f, 0.3)
print("cost of 11 coefficients: {ratio:.0f} times the function")

# Halley's method needs two derivatives, and takes both from one expansion.
halley(g, x) = {
  for k in 0..6 {
    t = taylor(g, x, 2)
    d1 = t[1]
    d2 = 2 * t[2]
    x = x - 2 * t[0] * d1 / (2 * d1^2 - t[0] * d2)
  }
  x
}
root = halley(x -> x * exp(x) - 1, 0.5)          # Lambert's W(1)
print("W(1) = {root:.15f}")
assert(abs(root - 0.567143290409783873) < 1e-15)

# The convergence of the series to the function.
z = linspace(-2.0, 2, 300)
partial_sum(n) = map(u -> sum(c[k] * u^k for k in 0..n), z)
plot(0.3 + z, map(f, 0.3 + z), partial_sum(3), partial_sum(6), partial_sum(11),
  labels = list("exp(sin x)", "degree 2", "degree 5", "degree 10"), ylim = (0, 4), xlabel = "x",
  ylabel = "y", file = "taylor.png")
