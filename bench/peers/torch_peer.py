"""torch_peer.py - the rows in PyTorch on the processor.

Derivatives are by nested autograd. Needs: torch. Prints one line of JSON for
each row.
"""
import common
from common import measure, numbers, size

import torch

torch.set_num_threads(common.options.threads)
PEER = "PyTorch"


def tensor(x):
    return torch.from_numpy(x)


def timed(f, *args):
    args = [tensor(a) for a in args]

    def work():
        with torch.no_grad():
            return f(*args)

    return work


def chain(x):
    a = 0.5 * x + 0.1
    b = torch.tanh(a)
    p = b * b - 0.3 * x
    d = torch.exp(-p * p)
    f = d * b + a
    h = f / torch.sqrt(f * f + 1)
    return torch.tanh(h - 0.2 * d) * p + h


def reduction(row):
    x, y = numbers(0, 1, size(row)), numbers(0, 1, size(row), seed=2)
    two = {"triad": lambda b, c: b + 3 * c, "dot": torch.dot}
    one = {"sum": torch.sum, "max": torch.max, "cumsum": lambda x: torch.cumsum(x, 0)}
    return timed(two[row], x, y) if row in two else timed(one[row], x)


def heat():
    start = tensor(numbers(0, 1, size("heat"), size("heat")))

    def work():
        u = start.clone()
        for _ in range(common.HEAT_STEPS):
            u[1:-1, 1:-1] += 0.2 * (
                u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
        return u

    return work


def pinn(row):
    width, layers, coords = common.PINNS[row.removesuffix("-f32")]
    dtype = common.dtype_of(row)
    modules = []
    for k, (W, b) in enumerate(common.network(width, layers, coords, dtype)):
        linear = torch.nn.Linear(W.shape[1], W.shape[0], dtype=tensor(W).dtype)
        linear.weight, linear.bias = torch.nn.Parameter(tensor(W)), torch.nn.Parameter(tensor(b))
        modules += [linear] if k == layers else [linear, torch.nn.Tanh()]
    model = torch.nn.Sequential(*modules)
    weights, x = (
        list(model.parameters()),
        torch.stack([tensor(p) for p in common.points(row, coords, dtype)], 1).requires_grad_(True))

    def work():
        u = model(x)
        one = torch.ones_like(u)
        du = torch.autograd.grad(u, x, one, create_graph=True)[0]
        lap = 0
        for k in range(coords - 1):
            lap = lap + torch.autograd.grad(du[:, k : k + 1], x, one,
                                            create_graph=True)[0][:, k : k + 1]
        r = du[:, -1:] + u * du[:, :-1].sum(1, keepdim=True) - common.VISCOSITY * lap
        loss = (r * r).mean()
        return loss, torch.autograd.grad(loss, weights)

    return work


def gram():
    from torch.func import grad, jvp, vmap

    weights = [(tensor(W), tensor(b)) for W, b in common.network(20, 3, 3)]
    xs = torch.stack([tensor(p) for p in common.points("gram", 3)], 1)
    unit = torch.eye(3, dtype=torch.float64)

    def u(w, p):
        for W, b in w[:-1]:
            p = torch.tanh(W @ p + b)
        return (w[-1][0] @ p + w[-1][1])[0]

    def residual(w, p):
        v, u_t = jvp(lambda q: u(w, q), (p,), (unit[2],))
        first = second = 0
        for k in range(2):
            a, b = jvp(lambda q: jvp(lambda r: u(w, r), (q,), (unit[k],))[1], (p,), (unit[k],))
            first, second = first + a, second + b
        return u_t + v * first - common.VISCOSITY * second

    rows = vmap(grad(residual), in_dims=(None, 0))

    def work():
        J = torch.cat([leaf.reshape(len(xs), -1) for layer in rows(weights, xs) for leaf in layer],
                      1)
        return J.T @ J

    return work


def mixture(gradient=True):
    alphas, means, icf, x = (tensor(a) for a in common.mixture())
    (n, d), k = x.shape, len(alphas)
    below = [(r, c) for c in range(d) for r in range(c + 1, d)]
    rows, cols = torch.tensor([r for r, _ in below]), torch.tensor([c for _, c in below])
    parameters = [p.requires_grad_(True) for p in (alphas, means, icf)]
    at = (torch.arange(k)[:, None].expand(k, len(below)), rows[None].expand(k, -1),
          cols[None].expand(k, -1))

    def work():
        q = torch.exp(icf[:, :d])
        L = torch.zeros(k, d, d, dtype=torch.float64).index_put(at, icf[:, d:])
        e = x[:, None, :] - means
        y = q * e + torch.einsum("krc,nkc->nkr", L, e)
        inner = alphas + icf[:, :d].sum(1) - 0.5 * (y * y).sum(2)
        prior = 0.5 * (q * q).sum() + 0.5 * (icf[:, d:] ** 2).sum()
        value = torch.logsumexp(inner, 1).sum() - n * torch.logsumexp(alphas, 0) + prior
        return (value, torch.autograd.grad(value, parameters)) if gradient else value

    return work


def bundle(gradient):
    cameras, points, weights, by, at, seen = (tensor(a) for a in common.bundle())
    parameters = [p.requires_grad_(gradient) for p in (cameras, points, weights)]

    def work():
        c, x = cameras[by], points[at]
        r, y = c[:, :3], x - c[:, 3:6]
        angle = torch.sqrt((r * r).sum(1, keepdim=True))
        a, cosine = r / angle, torch.cos(angle)
        p = (y * cosine + torch.linalg.cross(a, y) * torch.sin(angle)
             + a * ((a * y).sum(1, keepdim=True) * (1 - cosine)))
        p = p[:, :2] / p[:, 2:]
        q = (p * p).sum(1, keepdim=True)
        e = weights[:, None] * (
            p * (1 + c[:, 9:10] * q + c[:, 10:] * q**2) * c[:, 6:7] + c[:, 7:9] - seen)
        value = (e**2).sum() + ((1 - weights**2) ** 2).sum()
        return (value, torch.autograd.grad(value, parameters)) if gradient else value

    return work


def recurrent(gradient):
    main, extra, state, text = (tensor(a) for a in common.recurrent())
    main.requires_grad_(gradient)
    extra.requires_grad_(gradient)

    def work():
        hidden, cell, total = list(state[:, 0]), list(state[:, 1]), 0
        for t in range(len(text) - 1):
            x = text[t] * extra[0]
            for i in range(2):
                w, b = main[i]
                forget, enter, leave = (
                    torch.sigmoid(x * w[0] + b[0]), torch.sigmoid(hidden[i] * w[1] + b[1]),
                    torch.sigmoid(x * w[2] + b[2]))
                cell[i] = cell[i] * forget + enter * torch.tanh(hidden[i] * w[3] + b[3])
                x = hidden[i] = leave * torch.tanh(cell[i])
            y = x * extra[1] + extra[2]
            total = total + (text[t + 1] * (y - torch.log(torch.exp(y).sum() + 2))).sum()
        value = -total / ((len(text) - 1) * text.shape[1])
        return (value, torch.autograd.grad(value, (main, extra))) if gradient else value

    return work


def taylor(row):
    """Reverse mode nested as often as the order says: what autograd offers."""
    order = int(row[-1])
    weights, x = common.deep_network(row)
    w1, b1, W2, b2, W3, b3, w4 = (torch.from_numpy(w) for w in weights)
    x = torch.from_numpy(x).requires_grad_()

    def work():
        h = torch.tanh(x[:, None] * w1 + b1)
        y = torch.tanh(torch.tanh(h @ W2.T + b2) @ W3.T + b3) @ w4
        for _ in range(order):
            (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return y

    return work


def newton():
    from torch.func import jacfwd, vmap

    def f(v, p):
        return torch.stack([torch.sum(v**2) - p[0], v[0] * v[1] * v[2] - p[1],
                            v[0] - v[1] ** 2 + v[2] - p[2]])

    def solve(vs, ps):
        for _ in range(10):
            vs = vs - torch.linalg.solve(vmap(jacfwd(f))(vs, ps), vmap(f)(vs, ps))
        return vs

    return timed(solve, *common.systems())


measure(PEER, "wave", lambda: timed(lambda x: 1.3 * torch.sin(x) + torch.exp(-(x**2)) * 0.7,
                                    numbers(-5, 5, size("wave"))))
for row in ("chain-1e3", "chain-1e5", "chain-1e7"):
    measure(PEER, row, lambda: timed(chain, numbers(-3, 3, size(row))))
for row in ("triad", "sum", "dot", "max", "cumsum"):
    measure(PEER, row, lambda: reduction(row))
measure(PEER, "softmax",
        lambda: timed(lambda x: torch.softmax(x, 1), numbers(-4, 4, size("softmax"), common.WIDTH)))
measure(PEER, "layernorm",
        lambda: timed(lambda x, g, s: torch.nn.functional.layer_norm(x, (common.WIDTH,), g, s),
                      numbers(-4, 4, size("layernorm"), common.WIDTH),
                      numbers(0.5, 1.5, common.WIDTH), numbers(-0.5, 0.5, common.WIDTH)))
for n, suffix in common.MATMULS:
    measure(PEER, f"matmul-{n}{suffix}",
            lambda: timed(torch.matmul, *common.matmul_inputs(n, suffix)))
for n, suffix in common.LAYERS:
    measure(PEER, f"layer-{n}{suffix}",
            lambda: timed(lambda x, w, b: torch.tanh(torch.nn.functional.linear(x, w, b)),
                          *common.layer_inputs(n, suffix)))
measure(PEER, "heat", heat)
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
for row in ("taylor-4", "taylor-8"):
    measure(PEER, row, lambda: taylor(row))
