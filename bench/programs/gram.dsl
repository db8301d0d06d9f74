# gram.dsl - J'J for the Jacobian J of a network's residuals.
#
# J is with respect to the weights. Gauss-Newton and Levenberg-Marquardt need
# J'J.

residual(w, x, y, t) = {
  u = (p, s) -> apply((activation = tanh), w, [p[0], p[1], s])[0]
  p = [x, y]
  ∂(u, 1)(p, t) + u(p, t)*sum(grad(u)(p, t)) - 0.003183098861837907*laplacian(q -> u(q, t))(p)
}

gram(w, xs, ys, ts) = {
  J = map((x, y, t) -> flatten(grad(w -> residual(w, x, y, t))(w))[0], xs, ys, ts)
  J' @ J
}

start(v, xs, ys, ts) = (flatten(mlp([3, 20, 20, 20, 1]).weights)[1](v), xs, ys, ts)
finish(G) = (G,)
