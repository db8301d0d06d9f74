# Logistic regression by Newton's method: the Hessian is exact, and its inverse
# provides the standard errors.

seed(5)
truth = [0.5, 2.0, -1.0]
X = concat(ones(400, 1), randn(400, 2), axis = 1)
y = f64(rand(400) < sigmoid(X @ truth))

loss(w) = sum(softplus(X @ w) - y * (X @ w))
w = zeros(3)
for k in 0..10 { w = w - linsolve(hessian(loss)(w), grad(loss)(w)) }
σ = sqrt(diag(inv(hessian(loss)(w))))
for k in 0..3 { print("w[{k}] = {w[k]:.3f} ± {σ[k]:.3f}, made with {truth[k]}") }
assert(norm(grad(loss)(w)) < 1e-9 and all(abs(w - truth) < 4σ))

right = mean((X @ w > 0) == (y > 0.5))
print("{100right:.0f} % of the points on the right side")
assert(right > 0.7)
s = sort(X @ w)
overlay(
  plot(s, sigmoid(s), label = "probability of 1"),
  scatter(X @ w, y, label = "observed", colour = "red", opacity = 0.3), xlabel = "X w",
  ylabel = "y", file = "regression.png")
