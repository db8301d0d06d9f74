# Bratu's problem u'' = -λ exp(u) with u = 0 at both ends: two solutions below
# the fold, none beyond it. The curve of solutions is continued around the fold
# by prescribing the height in the middle, with λ as an unknown.

# An unknown λ with u(1/2) given: conditions at three places.
at_height(h, guess, λ) =
  bvp((x, y, p) -> [y[1], -p[0] * exp(y[0])], (Y, p) -> [Y[0, 0], Y[1, 0] - h, Y[2, 0]], (0.0, 1.0),
    guess; parameters = λ, at = [0.0, 0.5, 1.0], method = collocation(6), rtol = 1e-8, atol = 1e-10)

heights = linspace(0.05, 6.0, 60)
λ = zeros(60)
s = at_height(heights[0], x -> [4x * (1 - x) * heights[0], 4 * (1 - 2x) * heights[0]], 0.4)
for k in 0..60 {
  s = at_height(heights[k], s, s.parameters)
  λ[k] = s.parameters[0]
}

# The exact solution: u = -2 log(cosh(z (1 - 2x))/cosh(z)) with λ = 8
# z²/cosh(z)².
z = map(h -> acosh(exp(h / 2)), heights)
print("largest error of λ: {max(abs(λ - 8z^2 / cosh(z)^2)):.1e}")
assert(max(abs(λ - 8z^2 / cosh(z)^2)) < 1e-7)

# The fold, where dλ/dh = 0: the curve is differentiable, so Newton's method
# finds it.
height = h -> at_height(h, x -> [4x * (1 - x) * h, 4 * (1 - 2x) * h], 3.5).parameters[0]
top = root(h -> height'(h), 1.2)
print("fold at λ = {height(top):.9f}, u(1/2) = {top:.7f}")
assert(abs(height(top) - 3.513830719) < 1e-8)

problem bratu(λ) {
  domain x in [0, 1]
  field u
  u_xx == -λ*exp(u)
  u == 0 at x = 0, x = 1
}
low = solve(bratu(2.0))
high = solve(bratu(2.0), guess = (u = x -> 3sin(π * x),))
x = linspace(0.0, 1.0, 101)
a = plot(x, low.u(x), high.u(x), labels = list("lower", "upper"), xlabel = "x", ylabel = "u",
  title = "Two solutions for λ = 2");
b = plot(λ, heights, xlabel = "λ", ylabel = "u(1/2)", title = "Bratu's fold");
show(subplots(a, b, cols = 2), file = "bratu.png")
