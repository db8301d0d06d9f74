# taylor.dsl - high derivatives of a small network of one scalar at many points.

net(p, x) = p.w4 · tanh(p.W3 @ tanh(p.W2 @ tanh(p.w1*x + p.b1) + p.b2) + p.b3)

weights(w1, b1, W2, b2, W3, b3, w4) =
  (w1 = w1, b1 = b1, W2 = W2, b2 = b2, W3 = W3, b3 = b3, w4 = w4)

fourth(w1, b1, W2, b2, W3, b3, w4, x) = {
  p = weights(w1, b1, W2, b2, W3, b3, w4)
  map(x -> (s -> net(p, s))''''(x), x)
}

eighth(w1, b1, W2, b2, W3, b3, w4, x) = {
  p = weights(w1, b1, W2, b2, W3, b3, w4)
  map(x -> nth_derivative(s -> net(p, s), x, 8), x)
}
