# A small network learns a function, with JAX; L-BFGS comes from SciPy.
import numpy as np
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from scipy.optimize import minimize
import matplotlib.pyplot as plt

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(1)
sizes = [1, 16, 16, 1]
weights = [(rng.standard_normal((m, n)) * np.sqrt(2 / (m + n)), np.zeros(n))
           for m, n in zip(sizes, sizes[1:])]
target = lambda x: jnp.sin(3 * x) + 0.3 * x**2

def apply(w, x):
    for W, b in w[:-1]:
        x = jnp.tanh(x @ W + b)
    W, b = w[-1]
    return x @ W + b

x = jnp.linspace(-1, 1, 64)[:, None]
y = target(x)
loss = lambda w: jnp.mean((apply(w, x) - y)**2)

print(f"loss at the start {loss(weights):.3f}")
g = jax.grad(loss)(weights)
print(f"the first layer's gradient has shape {g[0][0].shape}")

v0, back = ravel_pytree(weights)
both = jax.jit(jax.value_and_grad(lambda v: loss(back(v))))
r = minimize(lambda v: [np.array(a) for a in both(v)], v0, jac=True, method="L-BFGS-B",
             options={"maxiter": 300, "ftol": 0, "gtol": 0})
print(f"after {r.nit} steps of L-BFGS {r.fun:.2e}")
assert r.fun < 1e-4

f = lambda s: apply(back(r.x), jnp.array([s]))[0]
print(f"at 0.123: {f(0.123):.4f}, wanted {target(0.123):.4f}; "
      f"slope {jax.grad(f)(0.123):.3f}, wanted {jax.grad(target)(0.123):.3f}")
assert (abs(f(0.123) - target(0.123)) < 0.02
        and abs(jax.grad(f)(0.123) - jax.grad(target)(0.123)) < 0.2)
wide = jnp.linspace(-1.5, 1.5, 200)
plt.axvspan(-1, 1, alpha=0.2, label="trained")
plt.plot(wide, target(wide), label="target")
plt.plot(wide, jax.vmap(f)(wide), label="network")
plt.legend()
plt.xlabel("x")
plt.ylabel("y")
plt.savefig("mlp.png")
