# Logistic regression by Newton's method, with JAX.
import numpy as np
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(5)
truth = np.array([0.5, 2.0, -1.0])
X = np.concatenate([np.ones((400, 1)), rng.standard_normal((400, 2))], axis=1)
y = (rng.random(400) < jax.nn.sigmoid(X @ truth)).astype(float)

loss = lambda w: jnp.sum(jax.nn.softplus(X @ w) - y * (X @ w))
w = jnp.zeros(3)
for k in range(10):
    w = w - jnp.linalg.solve(jax.hessian(loss)(w), jax.grad(loss)(w))
sigma = jnp.sqrt(jnp.diag(jnp.linalg.inv(jax.hessian(loss)(w))))
for k in range(3):
    print(f"w[{k}] = {w[k]:.3f} ± {sigma[k]:.3f}, made with {truth[k]}")
assert jnp.linalg.norm(jax.grad(loss)(w)) < 1e-9 and all(abs(w - truth) < 4 * sigma)

right = jnp.mean((X @ w > 0) == (y > 0.5))
print(f"{100 * right:.0f} % of the points on the right side")
assert right > 0.7
s = jnp.sort(X @ w)
plt.plot(s, jax.nn.sigmoid(s), label="probability of 1")
plt.scatter(X @ w, y, color="tab:red", alpha=0.3, label="observed")
plt.legend()
plt.xlabel("X w")
plt.ylabel("y")
plt.savefig("regression.png")
