"""jax_peer.py - the rows in JAX on the processor, compiled by jit.

Needs: jax. Prints one line of JSON for each row.
"""
import os

import common
from common import measure, numbers, size

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
PEER = "JAX"


def timed(f, *args):
    """Compiled, with its arguments on the device; waits for the result."""
    compiled, args = jax.jit(f), jax.tree.map(jnp.asarray, args)
    return lambda: jax.block_until_ready(compiled(*args))


def chain(x):
    a = 0.5 * x + 0.1
    b = jnp.tanh(a)
    p = b * b - 0.3 * x
    d = jnp.exp(-p * p)
    f = d * b + a
    h = f / jnp.sqrt(f * f + 1)
    return jnp.tanh(h - 0.2 * d) * p + h


def reduction(row):
    x, y = numbers(0, 1, size(row)), numbers(0, 1, size(row), seed=2)
    two = {"triad": lambda b, c: b + 3 * c, "dot": jnp.dot}
    one = {"sum": jnp.sum, "max": jnp.max, "cumsum": jnp.cumsum}
    return timed(two[row], x, y) if row in two else timed(one[row], x)


def layer_norm(x, gain, shift):
    d = x - x.mean(axis=1, keepdims=True)
    return d / jnp.sqrt((d**2).mean(axis=1, keepdims=True) + 1e-5) * gain + shift


def ensemble(rhos):
    """Trajectories of Lorenz's equations by diffrax, all in one while loop under vmap."""
    import diffrax

    term = diffrax.ODETerm(lambda t, u, rho: jnp.stack(
        [10 * (u[1] - u[0]), u[0] * (rho - u[2]) - u[1], u[0] * u[1] - 8 / 3 * u[2]]))
    control = diffrax.PIDController(rtol=1e-6, atol=1e-9)

    def end(rho):
        saved = diffrax.SaveAt(t1=True)
        return diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 1.0, None, jnp.array([1.0, 0, 0]),
                                   rho, stepsize_controller=control, saveat=saved,
                                   max_steps=None).ys[0]

    return jax.vmap(end)(rhos)


def heat(u):
    def step(_, u):
        change = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        return u.at[1:-1, 1:-1].add(0.2 * change)

    return jax.lax.fori_loop(0, common.HEAT_STEPS, step, u)


def net(w, x):
    for W, b in w[:-1]:
        x = jnp.tanh(W @ x + b)
    return (w[-1][0] @ x + w[-1][1])[0]


def residual(w, *point):
    """u_t + u (u_x + ...) - nu Laplacian, forward over forward."""
    *space, t = point
    v = u = net(w, jnp.stack(point))
    u_t = jax.jvp(lambda s: net(w, jnp.stack([*space, s])), (t,), (jnp.ones_like(t),))[1]
    first = second = 0
    for k in range(len(space)):
        def along(y):
            return net(w, jnp.stack([*space[:k], y, *space[k + 1:], t]))

        def slope(y):
            return jax.jvp(along, (y,), (jnp.ones_like(y),))[1]

        u_x, u_xx = jax.jvp(slope, (space[k],), (jnp.ones_like(t),))
        first, second = first + u_x, second + u_xx
    return u_t + v * first - jnp.asarray(common.VISCOSITY, u.dtype) * second


def pinn(row):
    width, layers, coords = common.PINNS[row.removesuffix("-f32")]
    dtype = common.dtype_of(row)

    def loss(w, *points):
        return jnp.mean(jax.vmap(lambda *p: residual(w, *p))(*points) ** 2)

    return timed(jax.value_and_grad(loss), common.network(width, layers, coords, dtype),
                 *common.points(row, coords, dtype))


def gram():
    def work(w, *points):
        rows = jax.vmap(lambda *p: jax.grad(residual)(w, *p))(*points)
        J = jnp.concatenate([leaf.reshape(leaf.shape[0], -1) for leaf in jax.tree.leaves(rows)],
                            axis=1)
        return J.T @ J

    return timed(work, common.network(20, 3, 3), *common.points("gram", 3))


def mixture(gradient=True):
    alphas, means, icf, x = common.mixture()
    (n, d), k = x.shape, len(alphas)
    below = [(r, c) for c in range(d) for r in range(c + 1, d)]
    rows, cols = jnp.array([r for r, _ in below]), jnp.array([c for _, c in below])

    def objective(alphas, means, icf):
        q = jnp.exp(icf[:, :d])
        L = jnp.zeros((k, d, d)).at[:, rows, cols].set(icf[:, d:])
        e = x[:, None, :] - means
        y = q * e + jnp.einsum("krc,nkc->nkr", L, e)
        inner = alphas + icf[:, :d].sum(1) - 0.5 * (y**2).sum(2)
        prior = 0.5 * (q**2).sum() + 0.5 * (icf[:, d:] ** 2).sum()
        return jax.nn.logsumexp(inner, axis=1).sum() - n * jax.nn.logsumexp(alphas) + prior

    return timed(jax.value_and_grad(objective, argnums=(0, 1, 2)) if gradient else objective,
                 alphas, means, icf)


def bundle(gradient):
    cameras, points, weights, by, at, seen = common.bundle()

    def error(camera, x, w, s):
        r, y = camera[:3], x - camera[3:6]
        angle = jnp.sqrt(r @ r)
        a = r / angle
        p = (y * jnp.cos(angle) + jnp.cross(a, y) * jnp.sin(angle)
             + a * ((a @ y) * (1 - jnp.cos(angle))))
        p = p[:2] / p[2]
        q = p @ p
        return w * (p * (1 + camera[9] * q + camera[10] * q**2) * camera[6] + camera[7:9] - s)

    def objective(cameras, points, weights):
        e = jax.vmap(error)(cameras[by], points[at], weights, seen)
        return (e**2).sum() + ((1 - weights**2) ** 2).sum()

    return timed(jax.value_and_grad(objective, argnums=(0, 1, 2)) if gradient else objective,
                 cameras, points, weights)


def recurrent(gradient):
    main, extra, state, text = common.recurrent()

    def letter(main, extra, state, pair):
        x, rows = pair[0] * extra[0], []
        for i in range(2):
            w, b = main[i]
            hidden, cell = state[i]
            forget, enter, leave = (
                jax.nn.sigmoid(x * w[0] + b[0]), jax.nn.sigmoid(hidden * w[1] + b[1]),
                jax.nn.sigmoid(x * w[2] + b[2]))
            cell = cell * forget + enter * jnp.tanh(hidden * w[3] + b[3])
            x = leave * jnp.tanh(cell)
            rows.append(jnp.stack([x, cell]))
        y = x * extra[1] + extra[2]
        return jnp.stack(rows), (pair[1] * (y - jnp.log(jnp.exp(y).sum() + 2))).sum()

    def objective(main, extra):
        pairs = jnp.stack([text[:-1], text[1:]], axis=1)
        total = jax.lax.scan(lambda s, p: letter(main, extra, s, p), state, pairs)[1].sum()
        return -total / ((len(text) - 1) * text.shape[1])

    return timed(jax.value_and_grad(objective, argnums=(0, 1)) if gradient else objective, main,
                 extra)


def taylor(row):
    """jax.experimental.jet, which is faster than nested jvp from the second order on."""
    from jax.experimental.jet import jet

    order = int(row[-1])
    (w1, b1, W2, b2, W3, b3, w4), x = common.deep_network(row)

    def net(s):
        return jnp.dot(w4, jnp.tanh(W3 @ jnp.tanh(W2 @ jnp.tanh(w1 * s + b1) + b2) + b3))

    def last(s):
        return jet(net, (s,), ([1.0] + [0.0] * (order - 1),))[1][-1]

    return timed(jax.vmap(last), x)


def newton():
    def f(v, p):
        return jnp.stack([jnp.sum(v**2) - p[0], v[0] * v[1] * v[2] - p[1],
                          v[0] - v[1] ** 2 + v[2] - p[2]])

    def one(v, p):
        return jax.lax.fori_loop(0, 10,
                                 lambda _, v: v - jnp.linalg.solve(jax.jacfwd(f)(v, p), f(v, p)), v)

    return timed(jax.vmap(one), *common.systems())


def mandelbrot():
    n = size("mandelbrot")

    def turn(_, s):
        x, y, k = s
        inside = x * x + y * y <= 4
        return (jnp.where(inside, x * x - y * y + a, x), jnp.where(inside, 2 * x * y + b, y),
                k + inside)

    i = jnp.arange(n)
    a, b = jnp.meshgrid(-2 + 2.5 * i / n, -1.25 + 2.5 * i / n)
    return timed(lambda: jax.lax.fori_loop(0, 100, turn,
                                           (0 * a, 0 * a, jnp.zeros((n, n), int)))[2].sum())


def lorenz():
    def f(u):
        return jnp.stack([10 * (u[1] - u[0]), u[0] * (28 - u[2]) - u[1],
                          u[0] * u[1] - 8 / 3 * u[2]])

    def step(_, u):
        h = 1e-5
        k1 = f(u)
        k2 = f(u + h / 2 * k1)
        k3 = f(u + h / 2 * k2)
        k4 = f(u + h * k3)
        return u + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return timed(lambda u: jax.lax.fori_loop(0, size("lorenz"), step, u), jnp.array([1.0, 0, 0]))


measure(PEER, "wave", lambda: timed(lambda a, b, x: a * jnp.sin(x) + jnp.exp(-(x**2)) * b, 1.3, 0.7,
                                    numbers(-5, 5, size("wave"))))
for row in ("chain-1e3", "chain-1e5", "chain-1e7"):
    measure(PEER, row, lambda: timed(chain, numbers(-3, 3, size(row))))
for row in ("triad", "sum", "dot", "max", "cumsum"):
    measure(PEER, row, lambda: reduction(row))
measure(PEER, "softmax", lambda: timed(lambda x: jax.nn.softmax(x, axis=1),
                                       numbers(-4, 4, size("softmax"), common.WIDTH)))
measure(PEER, "layernorm",
        lambda: timed(layer_norm, numbers(-4, 4, size("layernorm"), common.WIDTH),
                      numbers(0.5, 1.5, common.WIDTH), numbers(-0.5, 0.5, common.WIDTH)))
for n, suffix in common.MATMULS:
    measure(PEER, f"matmul-{n}{suffix}",
            lambda: timed(jnp.matmul, *common.matmul_inputs(n, suffix)))
for n, suffix in common.LAYERS:
    measure(PEER, f"layer-{n}{suffix}",
            lambda: timed(lambda x, w, b: jnp.tanh(x @ w.T + b), *common.layer_inputs(n, suffix)))
measure(PEER, "heat", lambda: timed(heat, numbers(0, 1, size("heat"), size("heat"))))
measure(PEER, "mandelbrot", mandelbrot)
measure(PEER, "lorenz", lorenz)
for row in common.PINNS:
    measure(PEER, row, lambda: pinn(row))
    measure(PEER, row + "-f32", lambda: pinn(row + "-f32"))
measure(PEER, "gram", gram)
measure(PEER, "gmm", mixture)
measure(PEER, "gmm-value", lambda: mixture(False))
for row, work in (("ba", bundle), ("lstm", recurrent)):
    measure(PEER, row, lambda: work(True))
    measure(PEER, row + "-value", lambda: work(False))
measure(PEER, "newton", newton)
measure(PEER, "ensemble", lambda: timed(ensemble, numbers(0, 50, size("ensemble"))))
for row in ("taylor-4", "taylor-8"):
    measure(PEER, row, lambda: taylor(row))
