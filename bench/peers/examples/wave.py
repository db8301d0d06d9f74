# A free quantum wave packet, with NumPy and SciPy: a Fourier series in x,
# integrated in time.
import numpy as np
from scipy.integrate import solve_ivp
import matplotlib.pyplot as plt

k, L, n = 1.0, 20.0, 64
z = -10 + L * np.arange(n) / n
q = 2 * np.pi * np.fft.fftfreq(n, L / n)
psi0 = np.exp(-z**2 / 2 + 1j * k * z)
density = lambda t, x: np.exp(-(x - k * t)**2 / (1 + t**2)) / np.sqrt(1 + t**2)

rhs = lambda t, v: -0.5j * q**2 * v
s = solve_ivp(rhs, (0, 1), np.fft.fft(psi0), dense_output=True, rtol=1e-7, atol=1e-9)

def rho(t, x):
    return abs(s.sol(t) / n @ np.exp(1j * np.outer(q, x + 10)))**2

x = np.linspace(-8, 8, 161)
error = np.max(abs(rho(1.0, x) - density(1.0, x)))
print(f"largest error of |ψ|² at t = 1: {error:.1e}; {len(s.t)} steps")
assert error < 1e-4

total = lambda t: np.trapezoid(rho(t, x), x)
mean_x = lambda t: np.trapezoid(x * rho(t, x), x) / total(t)
print(f"probability {total(0.0) / np.sqrt(np.pi):.6f} -> {total(1.0) / np.sqrt(np.pi):.6f}, "
      f"mean position {mean_x(0.0):.4f} -> {mean_x(1.0):.4f}")
assert abs(total(1.0) / total(0.0) - 1) < 1e-4 and abs(mean_x(1.0) - 1) < 1e-3
for t in [0.0, 0.5, 1.0]:
    plt.plot(x, rho(t, x), label=f"t = {t:g}")
plt.scatter(x[::8], density(1.0, x[::8]), color="black", s=9, label="exact")
plt.legend()
plt.xlabel("x")
plt.ylabel("|ψ|²")
plt.savefig("wave.png")
