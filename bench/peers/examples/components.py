# Principal components, with NumPy.
import numpy as np
import matplotlib.pyplot as plt

rng = np.random.default_rng(6)
points, dimensions = 300, 20
hidden = rng.standard_normal((points, 2)) * [3.0, 1.5]
directions = np.linalg.qr(rng.standard_normal((dimensions, 2)))[0]
X = hidden @ directions.T + 0.1 * rng.standard_normal((points, dimensions))

U, s, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
explained = s**2 / np.sum(s**2)
print(f"share of the variance: {explained[:4]}")
assert explained[0] + explained[1] > 0.95

cosines = np.linalg.svd(directions.T @ Vt[:2].T)[1]
print(f"cosines {cosines}")
assert min(cosines) > 0.999
plt.semilogy(1 + np.arange(dimensions), explained, "o-")
plt.xlabel("component")
plt.ylabel("share of the variance")
plt.savefig("components.png")
