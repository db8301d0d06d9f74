"""deepxde_peer.py - problems of bench/neural by DeepXDE.

Use: deepxde_peer.py [--only WORD] [--seconds 600] [--at 5 15 30 60]
                     [--threads 2] [--processor]

Needs: deepxde, torch, numpy, scipy.

Contract:
- Networks, points, optimisers and numbers of steps are those of DeepXDE's own
  examples, in its single precision.
- Each problem prints one line of JSON: the error at the given seconds of
  training and at the end. For inverse problems the error is the largest
  relative error of the parameters.
- The clock stops while errors are computed.
- A row that does not finish within --seconds is cut off and has
  "complete": false.
- References are closed forms, or computed here by collocation with tolerances
  of 1e-9. No files are read.
"""
import argparse
import json
import os
import time

os.environ.setdefault("DDE_BACKEND", "pytorch")
import deepxde as dde
import numpy as np
import torch
from scipy.integrate import solve_ivp

parser = argparse.ArgumentParser()
parser.add_argument("--only", action="append", default=[])
parser.add_argument("--seconds", type=float, default=600)
parser.add_argument("--at", type=float, nargs="*", default=[5, 15, 30, 60])
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--processor", action="store_true",
                    help="count seconds of the processor, not of the clock")
parser.add_argument("--seed", type=int, default=1)
options = parser.parse_args()
torch.set_num_threads(options.threads)
clock = time.process_time if options.processor else time.perf_counter


class Watch(dde.callbacks.Callback):
    """Errors at the marks, by a clock that stops meanwhile; ends the training after --seconds."""

    def __init__(self, error):
        super().__init__()
        self.error, self.spent, self.steps, self.marks, self.seen = (
            error, 0.0, 0, list(options.at), [])
        self.last = None

    def on_train_begin(self):
        self.last = clock()

    def on_epoch_end(self):
        self.steps += 1
        self.look()

    def look(self):
        now = clock()
        self.spent += now - self.last
        while self.marks and self.spent >= self.marks[0]:
            self.marks.pop(0)
            self.seen.append([round(self.spent, 2), self.steps, self.error(self.model)])
        if self.spent > options.seconds:
            self.model.stop_training = True
        self.last = clock()


def row(name, make, adam, lbfgs):
    """Trains by `adam` steps of Adam, then `lbfgs` steps of L-BFGS.

    make() gives (data, net, error of a model, trainable variables).
    """
    if options.only and not any(word in name for word in options.only):
        return
    dde.config.set_random_seed(options.seed)
    data, net, error, variables = make()
    model = dde.Model(data, net)
    watch = Watch(error)
    model.compile("adam", lr=1e-3, external_trainable_variables=variables)
    model.train(iterations=adam, callbacks=[watch], display_every=10**9, verbose=0)
    if lbfgs and watch.spent <= options.seconds:
        model.compile("L-BFGS", external_trainable_variables=variables)
        model.train(callbacks=[watch], display_every=10**9, verbose=0)
    complete = watch.spent <= options.seconds
    print(json.dumps({"peer": "DeepXDE", "row": name, "at": watch.seen,
                      "seconds": round(watch.spent, 2), "steps": watch.steps, "error": error(model),
                      "complete": complete}), flush=True)


def relative(a, b):
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


def grid(t, x):
    return np.stack([a.ravel() for a in np.meshgrid(x, t)], axis=1)


def by(y, x, i, j):
    return dde.grad.jacobian(y, x, i=i, j=j)


def twice(y, x, i, j, component=0):
    return dde.grad.hessian(y, x, component=component, i=i, j=j)


def chebyshev(n, a, b):
    """Chebyshev-Lobatto points of [a, b] and the matrix of the derivative."""
    x = np.cos(np.pi * np.arange(n + 1) / n)
    c = (np.where((np.arange(n + 1) == 0) | (np.arange(n + 1) == n), 2.0, 1.0)
         * (-1.0) ** np.arange(n + 1))
    d = x[:, None] - x[None, :] + np.eye(n + 1)
    D = np.outer(c, 1 / c) / d
    D -= np.diag(D.sum(axis=1))
    return a + (b - a) * (x + 1) / 2, D * 2 / (b - a)


def integrated(rate, y0, times, **settings):
    r = solve_ivp(rate, (0, times[-1]), y0, method="Radau", t_eval=times, rtol=1e-9, atol=1e-11,
                  **settings)
    assert r.success, r.message
    return r.y.T


def burgers():
    nu = 0.01 / np.pi
    domain = dde.geometry.GeometryXTime(dde.geometry.Interval(-1, 1),
                                        dde.geometry.TimeDomain(0, 0.99))
    data = dde.data.TimePDE(
        domain, lambda x, y: by(y, x, 0, 1) + y * by(y, x, 0, 0) - nu * twice(y, x, 0, 0),
        [dde.icbc.DirichletBC(domain, lambda x: 0, lambda _, on: on),
         dde.icbc.IC(domain, lambda x: -np.sin(np.pi * x[:, 0:1]), lambda _, on: on)],
        num_domain=2540, num_boundary=80, num_initial=160)
    x, t = np.linspace(-1, 1, 201), np.linspace(0.01, 0.99, 50)
    eta = np.linspace(-1, 1, 4001)[None, None, :] * (2.2 + 7 * np.sqrt(4 * nu * t))[:, None, None]
    y = x[None, :, None] - eta
    g = -np.cos(np.pi * y) / (2 * np.pi * nu) - eta**2 / (4 * nu * t[:, None, None])
    E = np.exp(g - g.max(axis=2, keepdims=True))
    exact = (-(np.sin(np.pi * y) * E).sum(axis=2) / E.sum(axis=2)).ravel()
    points = grid(t, x)
    net = dde.nn.FNN([2] + [20] * 3 + [1], "tanh", "Glorot normal")
    return data, net, lambda model: relative(model.predict(points)[:, 0], exact), None


def allen_cahn():
    d = 1e-3
    domain = dde.geometry.GeometryXTime(dde.geometry.Interval(-1, 1), dde.geometry.TimeDomain(0, 1))
    data = dde.data.TimePDE(domain,
                            lambda x, y: by(y, x, 0, 1) - d * twice(y, x, 0, 0) - 5 * (y - y**3),
                            [], num_domain=8000, num_boundary=400, num_initial=800)
    net = dde.nn.FNN([2] + [20] * 3 + [1], "tanh", "Glorot normal")
    net.apply_output_transform(lambda x, y: x[:, 0:1] ** 2 * torch.cos(np.pi * x[:, 0:1])
                               + x[:, 1:2] * (1 - x[:, 0:1] ** 2) * y)
    x, D = chebyshev(160, -1, 1)
    D2 = D @ D

    def rate(_, u):
        r = d * (D2 @ u) + 5 * (u - u**3)
        r[[0, -1]] = 0
        return r

    def slopes(_, u):
        J = d * D2 + np.diag(5 - 15 * u**2)
        J[[0, -1]] = 0
        return J

    t = np.linspace(0, 1, 21)
    exact = integrated(rate, x**2 * np.cos(np.pi * x), t, jac=slopes)
    points = grid(t, x)
    return data, net, lambda model: relative(model.predict(points)[:, 0], exact.ravel()), None


def kovasznay():
    Re = 20
    l = Re / 2 - np.sqrt(Re**2 / 4 + 4 * np.pi**2)
    u = lambda x: 1 - np.exp(l * x[:, 0:1]) * np.cos(2 * np.pi * x[:, 1:2])
    v = lambda x: l / (2 * np.pi) * np.exp(l * x[:, 0:1]) * np.sin(2 * np.pi * x[:, 1:2])
    p = lambda x: (1 - np.exp(2 * l * x[:, 0:1])) / 2

    def equations(x, y):
        u, v = y[:, 0:1], y[:, 1:2]
        return [u * by(y, x, 0, 0) + v * by(y, x, 0, 1) + by(y, x, 2, 0)
                - (twice(y, x, 0, 0, 0) + twice(y, x, 1, 1, 0)) / Re,
                u * by(y, x, 1, 0) + v * by(y, x, 1, 1) + by(y, x, 2, 1)
                - (twice(y, x, 0, 0, 1) + twice(y, x, 1, 1, 1)) / Re,
                by(y, x, 0, 0) + by(y, x, 1, 1)]

    domain = dde.geometry.Rectangle([-0.5, -0.5], [1, 1.5])
    edge = lambda _, on: on
    outlet = lambda x, on: on and dde.utils.isclose(x[0], 1)
    conditions = [dde.icbc.DirichletBC(domain, u, edge, component=0),
                  dde.icbc.DirichletBC(domain, v, edge, component=1),
                  dde.icbc.DirichletBC(domain, p, outlet, component=2)]
    data = dde.data.PDE(domain, equations, conditions, num_domain=2601, num_boundary=400,
                        num_test=100000)
    points = np.stack([a.ravel()
                       for a in np.meshgrid(np.linspace(-0.5, 1, 61), np.linspace(-0.5, 1.5, 61))],
                      axis=1)
    exact = np.hstack([u(points), v(points), p(points)])
    net = dde.nn.FNN([2] + 4 * [50] + [3], "tanh", "Glorot normal")
    return (data, net,
            lambda model: max(relative(a, b) for a, b in zip(model.predict(points).T, exact.T)),
            None)


def constant(value):
    return lambda x: value


def off(variables, truth):
    return lambda model: float(max(abs(v.item() / c - 1) for v, c in zip(variables, truth)))


def lorenz_inverse():
    truth = [10, 15, 8 / 3]
    a, b, c = unknown = [dde.Variable(1.0) for _ in truth]

    def equations(t, y):
        u, v, w = y[:, 0:1], y[:, 1:2], y[:, 2:]
        return [by(y, t, 0, 0) - a * (v - u), by(y, t, 1, 0) - u * (b - w) + v,
                by(y, t, 2, 0) - u * v + c * w]

    times = np.linspace(0, 3, 101)
    values = integrated(lambda t, y: [10 * (y[1] - y[0]), y[0] * (15 - y[2]) - y[1],
                                      y[0] * y[1] - 8 / 3 * y[2]],
                        [-8, 7, 27], times)
    domain = dde.geometry.TimeDomain(0, 3)
    start = lambda _, on: on
    conditions = [dde.icbc.IC(domain, constant(y0), start, component=k)
                  for k, y0 in enumerate([-8, 7, 27])]
    conditions += [dde.icbc.PointSetBC(times[:, None], values[:, k:k + 1], component=k)
                   for k in range(3)]
    data = dde.data.PDE(domain, equations, conditions, num_domain=400, num_boundary=2,
                        anchors=times[:, None])
    return (data, dde.nn.FNN([1] + [40] * 3 + [3], "tanh", "Glorot uniform"), off(unknown, truth),
            unknown)


def reaction_inverse():
    truth = [0.1, 2]
    kf, D = unknown = [dde.Variable(0.05), dde.Variable(1.0)]

    def equations(x, y):
        A, B = y[:, 0:1], y[:, 1:2]
        return [by(y, x, 0, 1) - 1e-3 * D * twice(y, x, 0, 0, 0) + kf * A * B**2,
                by(y, x, 1, 1) - 1e-3 * D * twice(y, x, 0, 0, 1) + 2 * kf * A * B**2]

    n = 64
    x, M = chebyshev(n, 0, 1)
    M = M @ M

    def rate(_, y):
        A, B = y[:n + 1], y[n + 1:]
        r = A * B**2 * truth[0]
        a, b = 2e-3 * (M @ A) - r, 2e-3 * (M @ B) - 2 * r
        a[[0, -1]] = b[[0, -1]] = 0
        return np.concatenate([a, b])

    times = np.linspace(0, 10, 41)
    start = np.exp(-20 * x)
    start[0] = 0
    values = integrated(rate, np.concatenate([start, start]), times)[1:]
    points = grid(times[1:], x)
    domain = dde.geometry.GeometryXTime(dde.geometry.Interval(0, 1), dde.geometry.TimeDomain(0, 10))
    conditions = [
        dde.icbc.DirichletBC(domain, lambda x: 1 - x[:, 0:1], lambda _, on: on, component=k)
        for k in range(2)]
    conditions += [
        dde.icbc.IC(domain, lambda x: np.exp(-20 * x[:, 0:1]), lambda _, on: on, component=k)
        for k in range(2)]
    conditions += [
        dde.icbc.PointSetBC(points, values[:, k * (n + 1):(k + 1) * (n + 1)].reshape(-1, 1),
                            component=k)
        for k in range(2)]
    data = dde.data.TimePDE(domain, equations, conditions, num_domain=2000, num_boundary=100,
                            num_initial=100, anchors=points, num_test=50000)
    return (data, dde.nn.FNN([2] + [20] * 3 + [2], "tanh", "Glorot uniform"), off(unknown, truth),
            unknown)


row("burgers", burgers, 15000, True)
row("allen-cahn", allen_cahn, 40000, True)
row("kovasznay", kovasznay, 30000, True)
row("lorenz-inverse", lorenz_inverse, 60000, False)
row("reaction-inverse", reaction_inverse, 80000, False)
