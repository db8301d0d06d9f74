# A small neural network learns a function: the parameters are a list of
# records, and the gradient has the same structure.

seed(1)
net = mlp([1, 16, 16, 1])
target(x) = sin(3x) + 0.3x^2

x = expand(linspace(-1, 1, 64), 1)          # one sample in each row: f64[64, 1]
y = target(x)
loss(w) = mean((apply(net, w, x) - y)^2)

print("loss at the start {loss(net.weights):.3f}")
g = grad(loss)(net.weights)
print("the first layer's gradient has shape {shape(g[0].W)}")

# Optimises all parameters together.
r = minimize(loss, net.weights, lbfgs(), steps = 300)
print("after {r.iterations} steps of L-BFGS {r.value:.2e}")
assert(r.value < 1e-4)

# The network is a function: it can be evaluated between the samples, and
# differentiated.
f(s) = apply(net, r.x, [s])[0]
print(
  "at 0.123: {f(0.123):.4f}, wanted {target(0.123):.4f}; slope {f'(0.123):.3f}, wanted "
  "{target'(0.123):.3f}")
assert(abs(f(0.123) - target(0.123)) < 0.02 and abs(f'(0.123) - target'(0.123)) < 0.2)

wide = linspace(-1.5, 1.5, 200)
overlay(
  vspan(-1, 1, label = "trained"),
  plot(wide, target(wide), map(f, wide), labels = list("target", "network")), xlabel = "x",
  ylabel = "y", file = "mlp.png")
