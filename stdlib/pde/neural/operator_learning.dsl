# operator_learning.dsl - networks that learn operators between functions from
# pairs that a solver has computed: deeponet, fno.
#
# A function is given by its values at fixed places, a row of a matrix; n pairs
# are two matrices. Both networks are records of weights with value(w, u, y),
# which train and minimize accept like any other. learn_operator does the usual
# training.

# deeponet(sensors, d, width = 40; hidden = [40, 40], activation = tanh): a
# network u -> (y -> sum_k b_k(u) t_k(y) + b0). The branch b is a network of the
# values of u at the sensors, f64[sensors]; the trunk t is one of the place y,
# f64[d].
#   Method: Lu, Jin, Pang, Zhang and Karniadakis, Nature Machine Intelligence 3,
#   2021. value(w, U, Y): U f64[n, sensors], Y f64[q, d] or f64[q] gives f64[n,
#   q]. The cost of n pairs at q places is n + q networks and a product.
#     net = deeponet(20, 1, 8)
#     shape(net.value(net.weights, zeros(5, 20), zeros(7)))    #> (5, 7)
deeponet(sensors, d = 1, width = 40; hidden = [40, 40], activation = tanh) = {
  branch = mlp(list(sensors, ...hidden, width); activation = activation)
  trunk = mlp(list(d, ...hidden, width); activation = activation)
  value(w, U, Y) = {
    places = if rank(Y) == 1 { expand(Y, 1) } else { Y }
    # The activation of the trunk's last layer makes its functions a nonlinear
    # basis.
    apply(branch, w.branch, U) @ activation(apply(trunk, w.trunk, places))' / sqrt(f64(width)) +
      w.offset
  }
  (weights = (branch = branch.weights, trunk = trunk.weights, offset = 0.0), value = value,
    kind = "deeponet")
}

# fno(width = 16, modes = 12; layers = 3, activation = tanh): a Fourier neural
# operator between functions on one equidistant grid of an interval, the same
# for u and its image.
#   Method: Li et al., Fourier neural operator for parametric partial
#   differential equations, 2021. Each layer mixes `width` channels at every
#   place and, mode by mode, the lowest `modes` Fourier modes. value(w, U, x): U
#   f64[n, m] and the grid x f64[m] give f64[n, m]. The weights do not depend on
#   m, so the network also works on a finer grid than that of training. Requires
#   modes <= m/2.
#     net = fno(6, 4)
#     shape(net.value(net.weights, zeros(5, 32), linspace(0, 1, 32)))    #> (5, 32)
fno(width = 16, modes = 12; layers = 3, activation = tanh) = {
  scale = 1.0 / width
  mixing = list()
  for k in each(layers) {
    mixing =
      push(mixing, (re = scale * randn(modes, width, width),
        im = scale * randn(modes, width, width), W = xavier(width, width), b = zeros(width)))
  }
  weights = (lift = (W = xavier(width, 2), b = zeros(width)), layers = mixing,
    down = mlp([width, 2 * width, 1]).weights)
  value(w, U, x) = {
    (n, m) = shape(U)
    assert(2 * modes <= m,
      "fno: a grid of {m} points has fewer than {modes} modes; {2 * modes} points have")
    # Channels are the first axis, places the last.
    h = _lifted(w.lift, U, x)
    for (k, layer) in enumerate(w.layers) {
      z = _mixed_channels(layer, h) + _mixed_modes(layer, h, modes)
      h = if k + 1 < layers { activation(z) } else { z }
    }
    flat = reshape(h, width, n * m)'
    reshape(apply((activation = activation), w.down, flat), n, m)
  }
  (weights = weights, value = value, kind = "fno")
}
# Returns the contribution of the lowest modes of all channels h f64[c, n, m] to
# all channels.
_mixed_modes(layer, h, modes) = {
  m = shape(h)[2]
  spectrum = rfft(h)[..., ..modes]
  (a, b) = (real(spectrum), imag(spectrum))
  re[o, i, k] := sum(layer.re[k, o, c] * a[c, i, k] for c) -
    sum(layer.im[k, o, c] * b[c, i, k] for c)
  im[o, i, k] := sum(layer.re[k, o, c] * b[c, i, k] for c) +
    sum(layer.im[k, o, c] * a[c, i, k] for c)
  rest = zeros(shape(h)[0], shape(h)[1], m // 2 + 1 - modes)
  irfft(concat(re + 1im * im, c128(rest); axis = 2); n = m)
}
_mixed_channels(layer, h) = [sum(layer.W[o, c] * h[c, i, k] for c) + layer.b[o] for o, i, k]
_lifted(lift, U, x) = [lift.W[c, 0] * U[i, k] + lift.W[c, 1] * x[k] + lift.b[c] for c, i, k]

# learn_operator(net, U, V, y; method = adam(), batch = 16, epochs = 200, held =
# 0.2, progress = true): a deeponet or fno trained on pairs U f64[n, m] -> V
# f64[n, q] at the places y (f64[q] or f64[q, d]).
#   u and v are scaled by their mean and standard deviation over the data. A
#   fraction `held` of the pairs is held out. Returns a record: value(u, y) for
#   u f64[m] or f64[n, m] (y: the places of the data unless given); error and
#   error_held, the mean relative L2 errors over the training pairs and the
#   held-out ones; losses by epoch; weights. method is as in train; its rate may
#   be a function of the step.
#     seed(1)
#     x = linspace(0, 1, 20)
#     A = rand(60, 2)
#     U = A[.., 0..1] + A[.., 1..2] * x
#     V = A[.., 0..1] * x + A[.., 1..2] * x^2 / 2          # antiderivatives
#     G = learn_operator(deeponet(20, 1, 10; hidden = [20]), U, V, x; epochs = 300, progress = false)
#     G.error_held < 0.05                #> true
learn_operator(net, U, V, y; method = none, batch = 16, epochs = 200, held = 0.2, progress = true) =
  {
    n = shape(U)[0]
    apart = i64(floor(held * n))
    steps = epochs * max(1, (n - apart) // batch)
    by = if kind(method) == "none" {
      adam(rate = step -> 1e-4 + 5e-3 * 0.5 * (1 + cos(π * min(1.0, step / f64(steps)))))
    } else {
      method
    }
    (u0, us, v0, vs) = (mean(U), std(U), mean(V), std(V))
    X = (U - u0) / us
    Z = (V - v0) / vs
    loss = (w, rows) -> mean((net.value(w, X[rows], y) - Z[rows])^2)
    r = train(loss, net.weights, n - apart, by; batch = batch, epochs = epochs, progress = progress)
    value(u, y = y) = {
      W = (if rank(u) == 1 { expand(u, 0) } else { u } - u0) / us
      out = v0 + vs * net.value(r.x, W, y)
      if rank(u) == 1 { out[0] } else { out }
    }
    off = (A, B) -> mean(norm(A - B; axis = 1) / norm(B; axis = 1))
    (value = value, error = off(value(U[..n - apart]), V[..n - apart]),
      error_held = if apart > 0 {
        off(value(U[n - apart..]), V[n - apart..])
      } else {
        nan
      }, losses = r.losses, weights = r.x)
  }
