# nn.dsl - small neural networks as records of weights.

# xavier(m, n): f64[m, n], normal with variance 2/(m + n) (Glorot and Bengio
# 2010): weights for tanh layers
#     shape(xavier(3, 2))            #> (3, 2)
xavier(m, n) = randn(m, n) * sqrt(2.0 / (m + n))

# mlp(sizes; activation, scale, dtype = f64): a multilayer perceptron sizes[0]
# -> ... -> sizes[-1].
# Returns a record: weights, a list of (W[out, in], b[out]) in f64 or f32, and
# activation, the function between layers.
#     net = mlp([2, 8, 1]);
#     len(net.weights)               #> 2
#     shape(net.weights[0].W)        #> (8, 2)
#     dtype(mlp([2, 1]; dtype = f32).weights[0].W)     #> f32
mlp(sizes; activation = tanh, scale = 1.0, dtype = f64) = {
  weights = list()
  for k in each(1, len(sizes)) {
    weights =
      push(weights, (W = dtype(scale * xavier(sizes[k], sizes[k - 1])), b = dtype(zeros(sizes[k]))))
  }
  (weights = weights, activation = activation)
}

# apply(net, weights, x): the network at x. x f64[n_in] gives f64[n_out]; rows
# of x f64[m, n_in] give f64[m, n_out].
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

# train(loss, weights, n, method = adam(); batch = 32, epochs = 20, progress =
# true, partial = false): weights trained on random batches of n data.
#   loss(w, rows) returns a real number, the loss over the data with the indices
#   rows, i64[batch]; it may not draw random numbers. In each epoch every index
#   occurs at most once, in a new random order; a remainder smaller than batch
#   is skipped. method: adam, adamw, adamax, nadam, rmsprop, adagrad,
#   gradient_descent or soap, whose rate may be a function of the step.
#   Returns a record: x, the weights in the form of the argument; losses
#   f64[epochs], the mean loss over the batches of each epoch; steps.
#   progress = false disables progress reports. A loss or weights that are not
#   finite are an error that reports the step. With partial = true the result
#   has the weights before that, and nan for the losses from then on.
#     seed(1)
#     X = linspace(-1, 1, 200)
#     r = train((w, i) -> mean((w.a * X[i] + w.b - (3X[i] + 1))^2), (a = 0.0, b = 0.0), 200, adam(rate = 0.05); epochs = 60)
#     [r.x.a, r.x.b]                   #~ [3, 1] tol 1e-3
train(loss, weights, n, method = adam(); batch = 32, epochs = 20, progress = true,
  partial = false) =
  _train(loss, weights, n, method,
    (batch = batch, epochs = epochs, progress = progress, partial = partial))

_train(loss, weights, n, method, o) = {
  (batch, epochs) = (o.batch, o.epochs)
  assert(batch >= 1 and batch <= n, "train: a batch of {batch} cannot be drawn from {n}")
  (w, back) = flatten(weights)
  w = stop_gradient(w + 0.0)
  by = (...method, matrices = _matrices_in(weights, 0)[0])
  state = by.start(w, by.matrices)
  losses = zeros(epochs)
  parts = n // batch
  steps = 0
  open = true
  for epoch in 0..epochs {
    order = permutation(n)
    total = 0.0
    for part in 0..parts {
      rows = order[part * batch + iota(batch)]
      (value, g) = value_and_grad(w -> loss(back(w), rows))(w)
      # A gradient that is not finite makes this sum not finite.
      slope = sum(abs(g))
      finite = abs(value) < inf and slope < inf
      if open and not finite and not o.partial {
        error(
          "train: the loss is {value}, the sum of its gradient's absolute values {slope}, in epoch "
          "{epoch + 1}, after {steps} steps; partial = true gives the weights before")
      }
      open = open and finite
      if open {
        (w, state) = _first_order_step(by, w, state, g, epoch * parts + part + 1)
        steps = steps + 1
      }
      total = total + value
    }
    losses[epoch] = if open { total / parts } else { nan }
    if o.progress { progress(epoch + 1, epochs; loss = losses[epoch]) }
  }
  (x = back(w), losses = losses, steps = steps)
}

# logsumexp(x; axis, keepdims): log(sum(exp(x))), of all elements or along an
# axis, without overflow
#     logsumexp([1000.0, 1000])                    #~ 1000 + log(2)
#     logsumexp([0.0, 0; log(3), 0]; axis = 1)     #~ [log(2), log(4)]
#     grad(logsumexp)([0.0, log(3)])               #~ [0.25, 0.75]
logsumexp(x; axis = none, keepdims = false) = {
  top =
    stop_gradient(if kind(axis) == "none" { max(x) } else { max(x; axis = axis, keepdims = true) })
  base = where(abs(top) < inf, top, 0.0)
  y = if kind(axis) == "none" { base + log(sum(exp(x - base))) } else {
    squeeze(base + log(sum(exp(x - base); axis = axis, keepdims = true)); axis = axis)
  }
  _keep_axes(y, x, axis, keepdims)
}

# softmax(x; axis = -1): exp(x) over its sum along an axis, without overflow:
# positive, with sum 1
#     softmax([0.0, log(3)])                       #~ [0.25, 0.75]
#     sum(softmax([1000.0, 2; 3, 4]); axis = 1)    #~ [1, 1]
softmax(x; axis = -1) = {
  e = exp(x - stop_gradient(max(x; axis = axis, keepdims = true)))
  e / sum(e; axis = axis, keepdims = true)
}
