# Rosenbrock's banana, with JAX and SciPy.
import numpy as np
import jax
import jax.numpy as jnp
from scipy.optimize import least_squares, minimize
import matplotlib.pyplot as plt

jax.config.update("jax_enable_x64", True)
rosen = lambda x: jnp.sum(100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)

x = jnp.array([1.2, 1, 0.9])
print(f"gradient {jax.grad(rosen)(x)}")
H = jax.hessian(rosen)(x)
assert jnp.array_equal(H, H.T)

v = jnp.array([1.0, -1, 2])
assert jnp.linalg.norm(jax.jvp(jax.grad(rosen), (x,), (v,))[1] - H @ v) < 1e-9

from jax.test_util import check_grads
check_grads(rosen, (x,), order=1, modes=["fwd", "rev"])

a = minimize(rosen, np.zeros(10) - 1.2, jac=jax.grad(rosen), method="L-BFGS-B",
             options={"maxiter": 500, "ftol": 0, "gtol": 1e-10})
print(f"L-BFGS: {a.nit} steps to {a.fun:.1e}")
assert np.linalg.norm(a.x - 1) < 1e-6

y = jnp.zeros(10) + 0.5
for k in range(30):
    y = y - jnp.linalg.solve(jax.hessian(rosen)(y), jax.grad(rosen)(y))
print(f"Newton: gradient {jnp.linalg.norm(jax.grad(rosen)(y)):.1e}")
assert jnp.linalg.norm(jax.grad(rosen)(y)) < 1e-10

r = lambda x: jnp.concatenate([10 * (x[1:] - x[:-1]**2), 1 - x[:-1]])
b = least_squares(r, np.zeros(10) - 1.2, jac=jax.jacobian(r), method="lm", xtol=1e-15, ftol=1e-15)
print(f"Levenberg-Marquardt: {b.nfev} evaluations to {b.cost:.1e}")
assert np.linalg.norm(b.x - 1) < 1e-8
p, q = np.linspace(-1.6, 1.6, 161), np.linspace(-0.8, 2, 141)
z = jax.vmap(jax.vmap(lambda a, b: rosen(jnp.array([a, b])), (0, None)), (None, 0))(p, q)
plt.contourf(p, q, np.log10(z + 1e-3), 12)
plt.colorbar(label="log10 f")
plt.scatter([1], [1], color="tab:red", label="minimum")
plt.legend()
plt.xlabel("x₀")
plt.ylabel("x₁")
plt.savefig("rosenbrock.png")
