# Three bodies along a figure of eight, with NumPy.
import numpy as np
import matplotlib.pyplot as plt

def acceleration(q):
    d = q[None, :] - q[:, None]
    r = np.linalg.norm(d, axis=-1)
    np.fill_diagonal(r, np.inf)
    return np.sum(d / r[..., None]**3, axis=1)

def energy(q, v):
    return 0.5 * np.sum(v**2) - sum(1 / np.linalg.norm(q[i] - q[j])
                                    for i, j in [(0, 1), (1, 2), (2, 0)])

def step(q, v, h):
    w = 1 / (2 - 2**(1 / 3))
    for s in [w, 1 - 2 * w, w]:
        v = v + 0.5 * h * s * acceleration(q)
        q = q + h * s * v
        v = v + 0.5 * h * s * acceleration(q)
    return q, v

a = np.array([0.97000436, -0.24308753])
b = np.array([-0.93240737, -0.86473146])
q = np.array([a, -a, [0, 0]])
v = np.array([-0.5 * b, -0.5 * b, b])
e0, q0, period, n = energy(q, v), q, 6.32591398, 1000
path = np.zeros((n, 3, 2))
for k in range(n):
    q, v = step(q, v, period / n)
    path[k] = q
print(f"after one period: energy changed by {abs(energy(q, v) - e0):.1e}, "
      f"places by {np.linalg.norm(q - q0):.1e}")
assert abs(energy(q, v) - e0) < 1e-9 and np.linalg.norm(q - q0) < 1e-5
plt.plot(path[:, 0, 0], path[:, 0, 1])
plt.title("three bodies, one path")
plt.xlabel("x")
plt.ylabel("y")
plt.savefig("eight.png")
