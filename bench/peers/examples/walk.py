# Random walks, with NumPy.
import numpy as np
import matplotlib.pyplot as plt

rng = np.random.default_rng(7)
walkers, steps = 10000, 400
heading = 2 * np.pi * rng.random((walkers, steps))
x = np.cumsum(np.cos(heading), axis=1)
y = np.cumsum(np.sin(heading), axis=1)
r2 = np.mean(x**2 + y**2, axis=0)
n = 1 + np.arange(steps)

slope = np.sum(n * r2) / np.sum(n * n)
print(f"mean square distance {slope:.3f} per step, theory 1")
assert abs(slope - 1) < 0.05

middle = np.median(x[:, -1]**2 + y[:, -1]**2)
print(f"median of the square {middle:.1f}, theory {steps * np.log(2):.1f}")
assert abs(middle / (steps * np.log(2)) - 1) < 0.05
plt.plot(x[0], y[0])
plt.gca().set_aspect(1)
plt.title(f"one of {walkers} walks")
plt.xlabel("x")
plt.ylabel("y")
plt.savefig("walk.png")
