# Lorenz' equations, with SciPy.
import numpy as np
from scipy.integrate import solve_ivp
import matplotlib.pyplot as plt

def lorenz(t, v, s=10.0, r=28.0, b=8 / 3):
    x, y, z = v
    return [s * (y - x), x * (r - z) - y, x * y - b * z]

def solve(x0, method, end=25):
    return solve_ivp(lorenz, (0, end), [x0, 0, 0], method=method, dense_output=True, rtol=1e-10,
                     atol=1e-12).sol

s = solve(1.0, "DOP853")
print(f"at t = 10: {s(10)}")
assert np.linalg.norm(s(10) - [-5.857685382424090, -5.831082486426100, 23.93213298702757]) < 1e-6

b = solve(1.0, "LSODA", end=10)
assert abs(b(10)[0] - s(10)[0]) < 1e-4

r = solve(1 + 1e-8, "DOP853")
apart = lambda t: np.linalg.norm(s(t) - r(t))
for t in [5.0, 15.0, 25.0]:
    print(f"t = {t:2g}: apart by {apart(t):.1e}")
assert apart(25.0) > 100 * 1e-8
axes = plt.axes(projection="3d")
axes.plot(*s(np.linspace(0, 25, 5000)), lw=0.8)
axes.set(xlabel="x", ylabel="y", zlabel="z", title="Lorenz' attractor")
plt.savefig("lorenz.png")
