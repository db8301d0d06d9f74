# A manufactured solution of a non-linear heat equation, with JAX and SciPy.
# The discretisation is by hand.
import numpy as np
import jax
import jax.numpy as jnp
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
import matplotlib.pyplot as plt

jax.config.update("jax_enable_x64", True)
exact = lambda t, x: jnp.sin(jnp.pi * x) * jnp.exp(-t) + 0.2 * x
k = lambda u: 1 + 0.5 * u**2

flux = lambda t, x: k(exact(t, x)) * jax.grad(exact, 1)(t, x)
source = jax.vmap(lambda t, x: jax.grad(exact, 0)(t, x) - jax.grad(flux, 1)(t, x), (None, 0))

def derivative(n, order):
    x = np.linspace(0, 1, n)
    D = np.zeros((n, n))
    for i in range(n):
        w = np.arange(order + 1) + max(0, min(i - order // 2, n - order - 1))
        D[i, w] = np.linalg.solve(np.vander(x[w] - x[i], increasing=True).T, np.eye(order + 1)[1])
    return x, D

def solve(n, order):
    x, D = derivative(n, order)
    rhs = jax.jit(lambda t, u: (D @ (k(u) * (D @ u)) + source(t, x)).at[jnp.array([0, -1])].set(0))
    jac = jax.jit(jax.jacobian(rhs, 1))
    return x, solve_ivp(rhs, (0, 0.5), exact(0, x), method="BDF", jac=jac, dense_output=True,
                        rtol=1e-10, atol=1e-12).sol

y = np.linspace(0, 1, 101)

def error(n, order):
    x, u = solve(n, order)
    return np.max(abs(CubicSpline(x, u(0.5))(y) - exact(0.5, y)))

for order in (2, 4):
    e1, e2 = error(31, order), error(61, order)
    observed = np.log2(e1 / e2)
    print(f"order {order}: {e1:.2e} -> {e2:.2e}, observed order {observed:.2f}")
    assert observed > order - 0.2
x, u = solve(61, 4)
t = np.linspace(0, 0.5, 101)
figure, (left, right) = plt.subplots(1, 2)
figure.suptitle("heat with a conductivity k(u)")
figure.colorbar(left.pcolormesh(t, x, u(t)))
for s in [0.125, 0.25, 0.5]:
    right.plot(x, u(s), label=f"t = {s}")
right.legend()
plt.savefig("heat.png")
