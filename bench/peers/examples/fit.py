# Non-linear least squares, with SciPy; the model's derivatives come from JAX.
import numpy as np
import jax
import jax.numpy as jnp
from scipy.optimize import least_squares
import matplotlib.pyplot as plt

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(3)
model = lambda p, t: p[0] * jnp.exp(-p[1] * t) * jnp.cos(p[2] * t)
truth = np.array([2.0, 0.3, 4.0])

t = np.linspace(0, 6, 120)
noise = 0.05
y = model(truth, t) + noise * rng.standard_normal(120)

r = jax.jit(lambda p: (model(p, t) - y) / noise)
fit = least_squares(r, [1.0, 0.1, 3.8], jac=jax.jacobian(r))

J = jax.jacobian(r)(fit.x)
sigma = np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
print("   ".join(f"{n} = {v:.3f} ± {s:.3f}" for n, v, s in zip("akω", fit.x, sigma)))

assert np.linalg.norm(J.T @ r(fit.x)) < 1e-3
assert all(abs(fit.x - truth) < 4 * sigma)
fine = np.linspace(0, 6, 400)
plt.plot(fine, model(fit.x, fine), label="fit")
plt.errorbar(t, y, noise, fmt="o", ms=3, color="tab:red", label="data")
plt.legend()
plt.xlabel("t")
plt.ylabel("y")
plt.title("a = {:.3f}, k = {:.3f}, ω = {:.3f}".format(*fit.x))
plt.savefig("fit.png")
