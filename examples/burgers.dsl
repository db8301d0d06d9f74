# Burgers' equation, stated once and solved three ways: finite differences,
# Chebyshev collocation, and a neural network. The reference is the exact
# solution (Cole 1951, Hopf 1950), computed by quadrature.

problem burgers(ν = 0.01/π) {
  domain t in [0, 1], x in [-1, 1]
  field u
  u_t + u*u_x == ν*u_xx
  u == -sin(π*x) at t = 0
  u == 0         at x = -1, x = 1
}

# u = -∫ sin(π(x-η)) E dη / ∫ E dη with E = exp(-cos(π(x-η))/(2πν) - η²/(4νt)),
# by the trapezoidal rule.
cole_hopf(t, x; ν = 0.01/π) = if t == 0 { -sin(π*x) } else {
  η = linspace(-1, 1, 4001) * (2.2 + 7*sqrt(4ν*t))
  y = expand(x, 1) - η
  g = -cos(π*y)/(2π*ν) - η^2/(4ν*t)
  E = exp(g - max(g; axis = 1, keepdims = true))
  -sum(sin(π*y)*E; axis = 1) / sum(E; axis = 1)
}

a = solve(burgers(), fd(n = 1024, order = 6), rtol = 1e-7, atol = 1e-9)
b = solve(burgers(), chebyshev(n = 256, cluster = (0, 0.05)), rtol = 1e-9, atol = 1e-11)
c = solve(burgers(), pinn(hidden = [20, 20, 20], points = 4000, steps = 100))
r = compare(a, b, c, reference = cole_hopf, tol = 1e-3)
assert(r.agree, "the three methods disagree")
plot(b, a, c, file = "burgers.png")
