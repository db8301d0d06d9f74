# pinn.dsl - a training step of a physics-informed network.
#
# The problem is Burgers' equation in one and two space coordinates.

# ---- u_t + u u_x = 0.01/π u_xx

u(w, x, t) = apply((activation = tanh), w, [x, t])[0]

residual(w, x, t) = {
  (v, (v_x, v_xx)) = jet(y -> u(w, y, t), x, (1.0, 0.0))
  ∂(u, 2)(w, x, t) + v*v_x - 0.003183098861837907*v_xx
}
loss(w, xs, ts) = mean(map((x, t) -> residual(w, x, t), xs, ts)^2)
step(w, xs, ts) = value_and_grad(w -> loss(w, xs, ts))(w)

# ---- u_t + u (u_x + u_y) = 0.01/π Δu

residual_2d(w, x, y, t) = {
  f = (p, s) -> apply((activation = tanh), w, [p[0], p[1], s])[0]
  p = [x, y]
  u_t = ∂(f, 1)(p, t)
  u_t + f(p, t)*sum(grad(f)(p, t)) - 0.003183098861837907*laplacian(q -> f(q, t))(p)
}

loss_2d(w, xs, ys, ts) = mean(map((x, y, t) -> residual_2d(w, x, y, t), xs, ys, ts)^2)
step_2d(w, xs, ys, ts) = value_and_grad(w -> loss_2d(w, xs, ys, ts))(w)

# ---- conversion from and to the arrays of the driver

# All weights are one vector, row by row of each layer.

weights(sizes, v) = flatten(mlp(sizes).weights)[1](v)
start_20x8(v, xs, ts) = (weights([2, 20, 20, 20, 20, 20, 20, 20, 20, 1], v), xs, ts)
start_64x4(v, xs, ts) = (weights([2, 64, 64, 64, 64, 1], v), xs, ts)
start_128x5(v, xs, ys, ts) = (weights([3, 128, 128, 128, 128, 128, 1], v), xs, ys, ts)
finish((loss, gradient)) = (loss, flatten(gradient)[0])
