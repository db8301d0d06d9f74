# The Mandelbrot set, with NumPy. All points of the grid iterate until the last
# has left the disc.
import numpy as np
import matplotlib.pyplot as plt

def escape(c, most=200):
    z = np.zeros_like(c)
    turns = np.zeros(c.shape, int)
    inside = np.ones(c.shape, bool)
    for _ in range(most):
        inside &= abs(z) <= 2
        z[inside] = z[inside]**2 + c[inside]
        turns += inside
    return turns

x = np.linspace(-2.2, 0.8, 300)
y = np.linspace(-1.2, 1.2, 240)
turns = escape(x[:, None] + 1j * y)

assert escape(np.array([0j]))[0] == 200 and escape(np.array([1 + 0j]))[0] == 3
area = np.mean(turns == 200) * 3.0 * 2.4
print(f"area of the set about {area:.2f}")
assert abs(area - 1.5066) < 0.05
plt.pcolormesh(x, y, turns.T, norm="log")
plt.colorbar(label="turns until |z| > 2")
plt.gca().set(aspect=1, xlabel="Re c", ylabel="Im c")
plt.savefig("mandelbrot.png")
