# Burgers' equation with NumPy, SciPy and JAX. Finite differences, Chebyshev
# collocation and a neural network are compared with the exact solution.
import numpy as np
import jax
import jax.numpy as jnp
from scipy.integrate import solve_ivp
from scipy.interpolate import BarycentricInterpolator, CubicSpline
from scipy.optimize import minimize
import matplotlib.pyplot as plt

jax.config.update("jax_enable_x64", True)
nu = 0.01 / np.pi

def cole_hopf(t, x):
    if t == 0:
        return -np.sin(np.pi * x)
    eta = np.linspace(-1, 1, 4001) * (2.2 + 7 * np.sqrt(4 * nu * t))
    y = x[:, None] - eta
    g = -np.cos(np.pi * y) / (2 * np.pi * nu) - eta**2 / (4 * nu * t)
    E = np.exp(g - g.max(axis=1, keepdims=True))
    return -np.sum(np.sin(np.pi * y) * E, axis=1) / np.sum(E, axis=1)

def integrate(x, D1, D2):
    def rhs(t, u):
        du = nu * (D2 @ u) - u * (D1 @ u)
        du[0] = du[-1] = 0
        return du
    def jac(t, u):
        J = nu * D2 - u[:, None] * D1 - np.diag(D1 @ u)
        J[0] = J[-1] = 0
        return J
    return solve_ivp(rhs, (0, 1), -np.sin(np.pi * x), method="BDF", jac=jac, dense_output=True,
                     rtol=1e-7, atol=1e-9).sol

def differences(n):
    x = np.linspace(-1, 1, n)
    h = x[1] - x[0]
    D1, D2 = np.zeros((n, n)), np.zeros((n, n))
    for i in range(1, n - 1):
        w = np.arange(max(0, min(i - 3, n - 7)), max(0, min(i - 3, n - 7)) + 7)
        V = np.vander(x[w] - x[i], increasing=True).T
        D1[i, w] = np.linalg.solve(V, np.eye(7)[1])
        D2[i, w] = np.linalg.solve(V, 2 * np.eye(7)[2])
    return x, D1, D2

def chebyshev(n):
    k = np.arange(n)
    x = -np.cos(np.pi * k / (n - 1))
    c = np.where((k == 0) | (k == n - 1), 2.0, 1.0) * (-1.0)**k
    D = np.outer(c, 1 / c) / (x[:, None] - x + np.eye(n))
    D -= np.diag(D.sum(axis=1))
    return x, D, D @ D

def network(sizes, seed=0):
    rng = np.random.default_rng(seed)
    shapes = [s for m, n in zip(sizes, sizes[1:]) for s in ((m, n), (n,))]
    w0 = np.concatenate([(rng.standard_normal(s) * np.sqrt(2 / sum(s)) if len(s) == 2
                          else np.zeros(s)).ravel() for s in shapes])
    places = np.cumsum([np.prod(s) for s in shapes])[:-1]
    def u(w, t, x):
        p = [q.reshape(s) for q, s in zip(jnp.split(w, places), shapes)]
        h = jnp.array([2 * t - 1, x])
        for W, b in zip(p[:-2:2], p[1:-2:2]):
            h = jnp.tanh(h @ W + b)
        return -jnp.sin(jnp.pi * x) + t * (1 - x**2) * (h @ p[-2] + p[-1])[0]
    return w0, u

def pinn(steps=1000, points=4000):
    w0, u = network([2, 20, 20, 20, 1])
    rng = np.random.default_rng(1)
    t, x = rng.random(points), rng.uniform(-1, 1, points)
    def residual(w, t, x):
        u_x = jax.grad(u, 2)
        return jax.grad(u, 1)(w, t, x) + u(w, t, x) * u_x(w, t, x) - nu * jax.grad(u_x, 2)(w, t, x)
    loss = jax.jit(
        jax.value_and_grad(lambda w: jnp.mean(jax.vmap(residual, (None, 0, 0))(w, t, x)**2)))
    w = minimize(lambda w: [np.array(v) for v in loss(w)], w0, jac=True, method="L-BFGS-B",
                 options={"maxiter": steps, "maxfun": 2 * steps}).x
    return jax.vmap(u, (None, None, 0)), w

xa, *D = differences(1024)
a = integrate(xa, *D)
xb, *D = chebyshev(256)
b = integrate(xb, *D)
u, w = pinn()
x = np.linspace(-1, 1, 401)
for t in [0.25, 0.5, 1.0]:
    e = cole_hopf(t, x)
    fd, ch, nn = (CubicSpline(xa, a(t))(x), BarycentricInterpolator(xb, b(t))(x),
                  np.array(u(w, t, x)))
    print(f"t = {t}: " + ", ".join(f"{np.linalg.norm(v - e) / np.linalg.norm(e):.1e}"
                                   for v in (fd, ch, nn)))
    plt.plot(x, fd)
    plt.plot(x[::20], ch[::20], "o")
    plt.plot(x[10::20], nn[10::20], "s")
plt.savefig("burgers.png")
