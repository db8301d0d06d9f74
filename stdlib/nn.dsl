# nn.dsl - small neural networks as records of weights.

# xavier(m, n): f64[m, n], normal with variance 2/(m + n) (Glorot and Bengio 2010): weights for tanh layers
#     shape(xavier(3, 2))            #> (3, 2)
xavier(m, n) = randn(m, n) * sqrt(2.0 / (m + n))

# mlp(sizes; activation, scale): a multilayer perceptron sizes[0] -> ... -> sizes[-1].
# Gives a record: weights, a list of (W: f64[out, in], b: f64[out]), and activation, the function between layers.
#     net = mlp([2, 8, 1]);
#     len(net.weights)               #> 2
#     shape(net.weights[0].W)        #> (8, 2)
mlp(sizes; activation = tanh, scale = 1.0) = {
  weights = list()
  for k in list(...(1..len(sizes))) {
    weights = push(weights, (W = scale * xavier(sizes[k], sizes[k - 1]), b = zeros(sizes[k])))
  }
  (weights = weights, activation = activation)
}

# apply(net, weights, x): the network at x. x f64[n_in] gives f64[n_out]; rows of x f64[m, n_in] give f64[m, n_out].
#     net = mlp([2, 8, 1]);
#     shape(apply(net, net.weights, [0.1, 0.2]))       #> (1,)
#     shape(apply(net, net.weights, zeros(5, 2)))      #> (5, 1)
apply(net, weights, x) = {
  h = x
  for (k, layer) in enumerate(weights) {
    z = if rank(x) == 1 { layer.W @ h + layer.b } else { h @ layer.W' + layer.b }
    h = if k + 1 < len(weights) { net.activation(z) } else { z }
  }
  h
}
